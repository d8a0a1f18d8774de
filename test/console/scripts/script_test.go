// Package scripts tests the modules of the console that know no page: each test loads one of them into an empty tab of Chromium.
package scripts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/raygate/raygate/test/console/internal/browser"
)

const parts = "../../../apiserver/internal/console/web/parts"

// object is a value of JSON.
type object = map[string]any

// chromium is what all tests share; nil where there is none.
var chromium *browser.Browser

func TestMain(m *testing.M) {
	var err error
	chromium, err = browser.Start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "test-console: scripts not run:", err)
		if errors.Is(err, browser.ErrMissing) && os.Getenv("REQUIRED") != "1" {
			return
		}
		os.Exit(1)
	}
	code := m.Run()
	chromium.Stop()
	os.Exit(code)
}

// script is an empty tab that runs one of the modules: those import nothing.
type script struct {
	*browser.Page
	t *testing.T
}

var exported = regexp.MustCompile(`(?m)^export `)

func scriptOf(t *testing.T, name string) script {
	t.Helper()
	return scriptAt(t, "", name)
}

// scriptAt does so at a URL, as some functions are for secure pages only.
func scriptAt(t *testing.T, url, name string) script {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts, name+".js"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := chromium.Open(browser.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(page.Close)
	s := script{page, t}
	if url != "" {
		if err := page.Go(url); err != nil {
			t.Fatal(err)
		}
	}
	s.run(exported.ReplaceAllString(string(text), "")) // not as a module, whose names no other code sees
	return s
}

func (s script) run(code string) {
	s.t.Helper()
	if err := s.Run(code+"\n;null", nil); err != nil {
		s.t.Fatalf("%s: %v", code, err)
	}
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
	if err := s.Run("("+expression+") ?? null", &value); err != nil {
		s.t.Fatalf("%s: %v", expression, err)
	}
	return value
}
