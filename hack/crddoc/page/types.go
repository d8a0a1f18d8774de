package page

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

var ourPackage = reflect.TypeFor[rayv1.RayCluster]().PkgPath()

// jsonName is empty for a type that is embedded.
func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// ours is the struct of api/ray/v1 that a field holds, directly, in a list or in a map.
func ours(t reflect.Type, schema *apiextensionsv1.JSONSchemaProps, at string) (place, bool) {
	switch t.Kind() {
	case reflect.Pointer:
		return ours(t.Elem(), schema, at)
	case reflect.Slice:
		if schema.Items != nil && schema.Items.Schema != nil {
			return ours(t.Elem(), schema.Items.Schema, at+"[]")
		}
	case reflect.Map:
		if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
			return ours(t.Elem(), schema.AdditionalProperties.Schema, at+"{}")
		}
	case reflect.Struct:
		return place{t, schema, at}, t.PkgPath() == ourPackage
	}
	return place{}, false
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Map:
		return "map of string to " + typeName(t.Elem())
	case reflect.Struct:
		if t.PkgPath() == ourPackage {
			return fmt.Sprintf("[%s](#%s)", t.Name(), strings.ToLower(t.Name()))
		}
		return "`" + groupVersion(t.PkgPath()) + " " + t.Name() + "`"
	}
	return t.Kind().String() // a named string is a string in YAML
}

// groupVersion is core/v1 for k8s.io/api/core/v1.
func groupVersion(pkg string) string {
	group, version := path.Base(path.Dir(pkg)), path.Base(pkg)
	if version == "resource" || group == "util" { // Quantity, IntOrString
		return "meta"
	}
	return group + "/" + version
}

// allowed are the values that the schema accepts.
func allowed(schema *apiextensionsv1.JSONSchemaProps) string {
	var parts []string
	if len(schema.Enum) > 0 {
		var values []string
		for _, v := range schema.Enum {
			values = append(values, "`"+string(v.Raw)+"`")
		}
		slices.Sort(values)
		parts = append(parts, "One of "+strings.Join(values, ", ")+".")
	}
	if schema.Minimum != nil {
		parts = append(parts, "At least "+number(*schema.Minimum)+".")
	}
	if schema.Maximum != nil {
		parts = append(parts, "At most "+number(*schema.Maximum)+".")
	}
	return strings.Join(parts, " ")
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func required(schema *apiextensionsv1.JSONSchemaProps, name string) bool {
	return slices.Contains(schema.Required, name)
}

var escape = strings.NewReplacer("|", `\|`, "<", "&lt;", "\n\n", " ", "\n", " ")

// text is a description in a cell.
func text(description string) string { return escape.Replace(strings.TrimSpace(description)) }
