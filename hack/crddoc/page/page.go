// Package page renders the CRDs for people. The structure comes from the Go types of api/ray/v1, so that the page ends where types of Kubernetes
// begin; descriptions, defaults, enumerations and bounds come from the CRDs, which is what the API server knows.
package page

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const intro = `# Reference of the custom resources: ray.io/v1

Generated from the CRDs in ` + "`operator/config/crd/bases`" + ` and the types in ` + "`api/ray/v1`" + ` by ` + "`go run ./hack/crddoc`" + `; do not edit it. ` + "`kubectl explain`" + `
prints the same text. [validation.md](validation.md) has the rules, [reference.md](reference.md) the API of the gateway.

* **Default** is what the API server stores when the field is left out. What the operator assumes of a field that is unset stands in its text.
* A type that is only named, such as ` + "`core/v1 PodTemplateSpec`" + `, is one of Kubernetes; its own reference describes it.
* A type is described once, where it occurs first; other kinds lead to it.

`

// kinds are in the order of the page.
var kinds = []struct {
	plural string
	object any
}{
	{"rayclusters", rayv1.RayCluster{}}, {"rayjobs", rayv1.RayJob{}}, {"raycronjobs", rayv1.RayCronJob{}}, {"rayservices", rayv1.RayService{}},
}

// Markdown is the content of docs/kinds.md, of the CRDs in a folder.
func Markdown(folder string) ([]byte, error) {
	p := &page{described: map[reflect.Type]bool{}}
	p.WriteString(intro)
	for _, k := range kinds {
		text, err := os.ReadFile(filepath.Join(folder, "ray.io_"+k.plural+".yaml"))
		if err != nil {
			return nil, err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			return nil, fmt.Errorf("reading CRD of %s: %w", k.plural, err)
		}
		if err := p.kind(crd, reflect.TypeOf(k.object)); err != nil {
			return nil, fmt.Errorf("describing %s: %w", k.plural, err)
		}
	}
	return p.Bytes(), nil
}

// page is what has been written.
type page struct {
	bytes.Buffer
	// described are the types that have a table.
	described map[reflect.Type]bool
}

// place is where a type occurs.
type place struct {
	goType reflect.Type
	schema *apiextensionsv1.JSONSchemaProps
	path   string
}

func (p *page) kind(crd *apiextensionsv1.CustomResourceDefinition, object reflect.Type) error {
	schema := storedSchema(crd)
	if schema == nil {
		return fmt.Errorf("the version that is stored has no schema")
	}
	names := crd.Spec.Names
	fmt.Fprintf(p, "## %s\n\n%s\n\n", names.Kind, text(schema.Description))
	fmt.Fprintf(p, "| for kubectl | versions |\n|---|---|\n| `%s` | %s |\n\n", strings.Join(append([]string{names.Plural, names.Singular}, names.ShortNames...), "`, `"), versions(crd))

	// Breadth first: the fields of an object come before those of what is in it.
	var queue []place
	for _, part := range []string{"Spec", "Status"} {
		field, ok := object.FieldByName(part)
		if !ok {
			return fmt.Errorf("the type has no %s", part)
		}
		name := jsonName(field)
		child, ok := schema.Properties[name]
		if !ok {
			return fmt.Errorf("the schema has no %s", name)
		}
		queue = append(queue, place{field.Type, &child, name})
	}
	for ; len(queue) > 0; queue = queue[1:] {
		inner, err := p.table(queue[0])
		if err != nil {
			return err
		}
		queue = append(queue, inner...)
	}
	return nil
}

func storedSchema(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.JSONSchemaProps {
	for _, v := range crd.Spec.Versions {
		if v.Storage && v.Schema != nil {
			return v.Schema.OpenAPIV3Schema
		}
	}
	return nil
}

func versions(crd *apiextensionsv1.CustomResourceDefinition) string {
	var all []string
	for _, v := range crd.Spec.Versions {
		name := "`" + v.Name + "`"
		switch {
		case v.Storage:
			name += " (stored)"
		case v.Deprecated:
			name += " (deprecated)"
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

// table writes the fields of a type, unless they stand on the page already, and returns the places of the types in it.
func (p *page) table(at place) ([]place, error) {
	if p.described[at.goType] {
		return nil, nil
	}
	p.described[at.goType] = true
	fmt.Fprintf(p, "### %s\n\nAt `%s`.\n\n| field | type | default | meaning |\n|---|---|---|---|\n", at.goType.Name(), at.path)
	var inner []place
	for _, field := range reflect.VisibleFields(at.goType) {
		name := jsonName(field)
		if name == "" {
			continue // embedded: its fields are visible themselves
		}
		schema, ok := at.schema.Properties[name]
		if !ok {
			return nil, fmt.Errorf("the schema has no %s.%s", at.path, name)
		}
		p.row(name, field.Type, &schema, required(at.schema, name))
		if found, ok := ours(field.Type, &schema, at.path+"."+name); ok {
			inner = append(inner, found)
		}
	}
	p.WriteString("\n")
	return inner, nil
}

func (p *page) row(name string, t reflect.Type, schema *apiextensionsv1.JSONSchemaProps, needed bool) {
	value := ""
	if schema.Default != nil {
		value = "`" + string(schema.Default.Raw) + "`"
	}
	meaning := strings.TrimSpace(text(schema.Description) + " " + allowed(schema))
	if needed {
		meaning += " Required."
	}
	fmt.Fprintf(p, "| `%s` | %s | %s | %s |\n", name, typeName(t), value, meaning)
}
