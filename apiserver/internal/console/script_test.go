package console

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/dop251/goja"
)

// script runs one of the modules of the pages that know no browser: those import nothing.
type script struct {
	*goja.Runtime
	t *testing.T
}

var exported = regexp.MustCompile(`(?m)^export `)

func scriptOf(t *testing.T, name string) script {
	t.Helper()
	text, err := web.ReadFile(path.Join("web/parts", name+".js"))
	if err != nil {
		t.Fatal(err)
	}
	s := script{goja.New(), t}
	s.run(exported.ReplaceAllString(string(text), "")) // goja has no modules
	return s
}

func (s script) run(code string) goja.Value {
	s.t.Helper()
	value, err := s.RunString(code)
	if err != nil {
		s.t.Fatalf("%s: %v", code, err)
	}
	return value
}

// get runs code that comes before, evaluates an expression, and returns its value as JSON has it. What args says is known to both by name.
func (s script) get(expression string, args map[string]any, before ...string) any {
	s.t.Helper()
	for name, value := range args {
		data, err := json.Marshal(value)
		if err != nil {
			s.t.Fatal(err)
		}
		s.run("var " + name + " = " + string(data))
	}
	for _, code := range before {
		s.run(code)
	}
	var value any
	text := s.run("JSON.stringify((" + expression + ") ?? null)").String()
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&value); err != nil {
		s.t.Fatalf("%s is %s: %v", expression, text, err)
	}
	return value
}
