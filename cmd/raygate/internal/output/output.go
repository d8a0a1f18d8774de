// Package output prints objects as tables, JSON, YAML or names, with kubectl's printers.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
)

// Forms of output.
const (
	Table = "table"
	Wide  = "wide"
	JSON  = "json"
	YAML  = "yaml"
	Name  = "name"
	// JSONPath has a template behind it.
	JSONPath = "jsonpath="
)

// Forms are all of them.
var Forms = []string{Table, Wide, JSON, YAML, Name, JSONPath}

// Flags are the flags for the output.
type Flags struct {
	Form      string
	NoHeaders bool
	// WithNamespace adds the column of the namespace.
	WithNamespace bool

	// now is the time that ages are reckoned to; nil is time.Now.
	now func() time.Time
}

// Add registers the flags of a command that prints objects.
func (f *Flags) Add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.Form, "output", "o", Table, "output format: "+strings.Join(Forms, ", ")+"TEMPLATE")
	fs.BoolVar(&f.NoHeaders, "no-headers", false, "omit the headers of tables")
}

// Check refuses forms that there are not.
func (f *Flags) Check(possible ...string) error {
	if template, ok := strings.CutPrefix(f.Form, JSONPath); ok && slices.Contains(possible, JSONPath) {
		_, err := printers.NewJSONPathPrinter(template)
		return err
	}
	if !slices.Contains(possible, f.Form) {
		return fmt.Errorf("unknown output %q: use %s", f.Form, strings.Join(possible, ", "))
	}
	return nil
}

// Full reports whether whole objects are printed, and not only the columns of a table.
func (f *Flags) Full() bool {
	return f.Form == JSON || f.Form == YAML || strings.HasPrefix(f.Form, JSONPath)
}

// Item is an object that is printed.
type Item struct {
	Kind    *kind.Kind
	Message proto.Message
}

func (i Item) unstructured() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: convert.Tree(i.Message)}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: i.Kind.Name})
	return u
}

// Objects prints objects in their order, those of one kind together. Single means that one object was requested by name and not a list.
func (f *Flags) Objects(w io.Writer, items []Item, single bool) error {
	switch {
	case f.Form == Name:
		return f.names(w, items)
	case f.Full():
		var object runtime.Object = listOf(items)
		if single && len(items) == 1 {
			object = items[0].unstructured()
		}
		return f.printer().PrintObj(object, w)
	}
	return f.tables(w, items)
}

// printer is the printer of whole objects.
func (f *Flags) printer() printers.ResourcePrinter {
	if template, ok := strings.CutPrefix(f.Form, JSONPath); ok {
		if p, err := printers.NewJSONPathPrinter(template); err == nil { // Check has found no mistake in it
			p.AllowMissingKeys(true)
			return p
		}
	}
	if f.Form == YAML {
		return &printers.YAMLPrinter{}
	}
	return &printers.JSONPrinter{}
}

func (f *Flags) names(w io.Writer, items []Item) error {
	for _, item := range items {
		if err := (&printers.NamePrinter{}).PrintObj(item.unstructured(), w); err != nil {
			return err
		}
	}
	return nil
}

// listOf is the object that kubectl prints for several objects, possibly of different kinds.
func listOf(items []Item) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}}}
	for _, item := range items {
		list.Items = append(list.Items, *item.unstructured())
	}
	return list
}

// tables prints a table for each kind. With several kinds, names have their type before them.
func (f *Flags) tables(w io.Writer, items []Item) error {
	var kinds []*kind.Kind
	for _, item := range items {
		if !slices.Contains(kinds, item.Kind) {
			kinds = append(kinds, item.Kind)
		}
	}
	for i, k := range kinds {
		if i > 0 {
			fmt.Fprintln(w)
		}
		of := slices.DeleteFunc(slices.Clone(items), func(item Item) bool { return item.Kind != k })
		if err := f.tablePrinter(k, len(kinds) > 1).PrintObj(f.tableOf(k, of...), w); err != nil {
			return err
		}
	}
	return nil
}

func (f *Flags) tablePrinter(k *kind.Kind, withKind bool) printers.ResourcePrinter {
	return printers.NewTablePrinter(printers.PrintOptions{
		NoHeaders: f.NoHeaders, WithNamespace: f.WithNamespace, Wide: f.Form == Wide, WithKind: withKind, Kind: schema.GroupKind{Kind: k.Singular},
	})
}

func (f *Flags) tableOf(k *kind.Kind, items ...Item) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name"}}}
	for _, c := range k.Columns {
		priority := int32(0)
		if c.Wide {
			priority = 1
		}
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: c.Name, Type: "string", Priority: priority})
	}
	now := time.Now
	if f.now != nil {
		now = f.now
	}
	for _, item := range items {
		u := item.unstructured()
		row := metav1.TableRow{Cells: []any{u.GetName()}, Object: runtime.RawExtension{Object: u}}
		for _, c := range k.Columns {
			value := c.Value(item.Message)
			if at, ok := value.(time.Time); ok {
				value = duration.HumanDuration(now().Sub(at))
			}
			row.Cells = append(row.Cells, value)
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// Events prints the events of a watch on one kind as they arrive.
type Events struct {
	flags *Flags
	kind  *kind.Kind
	w     io.Writer
	table printers.ResourcePrinter
	tabs  interface {
		io.Writer
		Flush() error
	}
}

// Events returns a printer for a watch.
func (f *Flags) Events(w io.Writer, k *kind.Kind) *Events {
	return &Events{flags: f, kind: k, w: w, table: f.tablePrinter(k, false), tabs: printers.GetNewTabWriter(w)}
}

// Print prints an event; events without an object are not shown to users.
func (e *Events) Print(event raygate.Event[proto.Message]) error {
	if event.Object == nil {
		return nil
	}
	item := Item{e.kind, event.Object}
	if strings.HasPrefix(e.flags.Form, JSONPath) {
		err := e.flags.printer().PrintObj(item.unstructured(), e.w)
		fmt.Fprintln(e.w)
		return err
	}
	switch e.flags.Form {
	case JSON:
		data, err := json.Marshal(map[string]any{"type": event.Type, "object": item.unstructured().Object})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(e.w, "%s\n", data)
		return err
	case YAML:
		fmt.Fprintf(e.w, "---\n# %s\n", event.Type)
		return (&printers.YAMLPrinter{}).PrintObj(item.unstructured(), e.w)
	case Name:
		return e.flags.names(e.w, []Item{item})
	}
	shown := &metav1.WatchEvent{Type: event.Type, Object: runtime.RawExtension{Object: e.flags.tableOf(e.kind, item)}}
	if err := e.table.PrintObj(shown, e.tabs); err != nil {
		return err
	}
	return e.tabs.Flush()
}

// Done prints the result of an operation on an object, as in raycluster.ray.io/demo created.
func (f *Flags) Done(w io.Writer, item Item, operation string) error {
	switch f.Form {
	case JSON, YAML:
		return f.printer().PrintObj(item.unstructured(), w)
	case Name:
		operation = ""
	}
	return (&printers.NamePrinter{Operation: operation, ShortOutput: operation == ""}).PrintObj(item.unstructured(), w)
}
