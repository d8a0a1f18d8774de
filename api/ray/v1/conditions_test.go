package v1_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// constants returns the texts of the constants in a file whose names have the prefix.
func constants(t *testing.T, file, prefix string) (texts []string) {
	t.Helper()
	for _, spec := range specs[*ast.ValueSpec](t, file) {
		if name := spec.Names[0].Name; !strings.HasPrefix(name, prefix) || strings.HasPrefix(name, "Reason") {
			continue
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	return texts
}

// specs returns the declarations of one sort in a file.
func specs[T ast.Spec](t *testing.T, file string) (found []T) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if one, ok := n.(T); ok {
			found = append(found, one)
		}
		return true
	})
	return found
}

// Every type of condition is in the description of the field, which kubectl explain and the reference show.
func TestConditionsAreDescribed(t *testing.T) {
	ofAll := constants(t, "readiness_conditions.go", "Condition")
	for kind, tc := range map[string]struct {
		status string
		types  []string
	}{
		"raycluster": {"RayClusterStatus", constants(t, "raycluster_conditions.go", "")},
		"rayjob":     {"RayJobStatus", constants(t, "rayjob_conditions.go", "RayJob")},
		"rayservice": {"RayServiceStatuses", constants(t, "rayservice_conditions.go", "RayService")},
		"raycronjob": {"RayCronJobStatus", ofAll},
	} {
		t.Run(kind, func(t *testing.T) {
			var words []string
			for _, spec := range specs[*ast.TypeSpec](t, kind+"_types.go") {
				fields, ok := spec.Type.(*ast.StructType)
				if !ok || spec.Name.Name != tc.status {
					continue
				}
				for _, f := range fields.Fields.List {
					if len(f.Names) == 1 && f.Names[0].Name == "Conditions" {
						words = strings.FieldsFunc(f.Doc.Text(), func(r rune) bool { return strings.ContainsRune(" ,.;\n", r) })
					}
				}
			}
			if len(tc.types) < 3 {
				t.Fatalf("only the types %v were found", tc.types)
			}
			for _, one := range append(tc.types, ofAll...) {
				if !slices.Contains(words, one) {
					t.Errorf("the description lacks %s", one)
				}
			}
		})
	}
}
