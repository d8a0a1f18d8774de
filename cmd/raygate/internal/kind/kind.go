// Package kind is the table of the kinds for users, with their names and columns.
package kind

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/clients/go/convert"
)

// Kind is a kind of resource on the command line.
type Kind struct {
	*raygate.Kind
	// Singular and Plural are the names of the resource, as in raycluster and rayclusters.
	Singular, Plural string
	// Short is how people call it, as in cluster.
	Short string
	// Ready is the default condition of a wait.
	Ready string
	// Columns of a table, after the name.
	Columns []Column
	// Summary is the state of an object in a few words, for progress.
	Summary func(proto.Message) string
}

// Column of a table.
type Column struct {
	Name string
	// Wide columns are shown with -o wide only.
	Wide bool
	// Value of an object: a string, a number, or a time, which is shown as how long ago it was.
	Value func(proto.Message) any
}

// all are the kinds in their order in lists.
var all = []*Kind{clusters, jobs, services, cronJobs}

// All returns the kinds.
func All() []*Kind { return slices.Clone(all) }

// names are all names that users may write.
func (k *Kind) names() []string {
	return []string{k.Singular, k.Plural, k.Short, k.Short + "s", k.Plural + ".ray.io", k.Singular + ".ray.io"}
}

// Named returns the kind that users call so, in singular or plural, with or without Ray in front.
func Named(name string) (*Kind, error) {
	for _, k := range all {
		if slices.Contains(k.names(), strings.ToLower(name)) {
			return k, nil
		}
	}
	return nil, fmt.Errorf("unknown type %q: use %s", name, strings.Join(Plurals(), ", "))
}

// OfObject returns the kind that is called so in the field kind of an object.
func OfObject(name string) (*Kind, bool) {
	i := slices.IndexFunc(all, func(k *Kind) bool { return k.Name == name })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}

// Plurals are the names under which kinds are listed.
func Plurals() []string {
	var names []string
	for _, k := range all {
		names = append(names, k.Plural)
	}
	return names
}

// Ref names an object; with an empty name it is all objects of the kind.
type Ref struct {
	Kind *Kind
	Name string
}

// String is as in raycluster/demo.
func (r Ref) String() string { return r.Kind.Singular + "/" + r.Name }

// Everything is the type argument for all kinds.
const Everything = "all"

// ParseRefs parses the arguments for objects: TYPE, TYPE,TYPE, TYPE NAME..., or TYPE/NAME... .
func ParseRefs(args []string) ([]Ref, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("name a type: %s", strings.Join(Plurals(), ", "))
	}
	if strings.Contains(args[0], "/") {
		return parsePairs(args)
	}
	kinds, err := parseTypes(args[0])
	if err != nil {
		return nil, err
	}
	var refs []Ref
	for _, k := range kinds {
		if len(args) == 1 {
			refs = append(refs, Ref{Kind: k})
		}
		for _, name := range args[1:] {
			if strings.Contains(name, "/") {
				return nil, fmt.Errorf("%q: write TYPE NAME or TYPE/NAME, and not both in one command", name)
			}
			refs = append(refs, Ref{k, name})
		}
	}
	return refs, nil
}

func parseTypes(list string) ([]*Kind, error) {
	if strings.EqualFold(list, Everything) {
		return All(), nil
	}
	var kinds []*Kind
	for name := range strings.SplitSeq(list, ",") {
		k, err := Named(name)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

func parsePairs(args []string) ([]Ref, error) {
	var refs []Ref
	for _, arg := range args {
		name, object, found := strings.Cut(arg, "/")
		if !found || object == "" || strings.Contains(object, "/") {
			return nil, fmt.Errorf("%q is not TYPE/NAME", arg)
		}
		k, err := Named(name)
		if err != nil {
			return nil, err
		}
		refs = append(refs, Ref{k, object})
	}
	return refs, nil
}

// column is a Column by the Go type of the custom resource.
type column[T convert.Object] struct {
	name  string
	wide  bool
	value func(T) any
}

// view is the content of a table and of a progress line for a kind.
type view[T convert.Object] struct {
	columns []column[T]
	summary func(T) string
}

// define makes a kind of its typed view.
func define[T convert.Object, M proto.Message](k *raygate.Kind, pair convert.Pair[T, M], ready string, v view[T]) *Kind {
	singular := strings.ToLower(k.Name)
	out := &Kind{
		Kind: k, Singular: singular, Plural: singular + "s", Short: strings.TrimPrefix(singular, "ray"), Ready: ready,
		Summary: func(m proto.Message) string { return text(pair, m, v.summary) },
	}
	for _, c := range v.columns {
		out.Columns = append(out.Columns, Column{Name: c.name, Wide: c.wide, Value: func(m proto.Message) any {
			object, err := pair.Object(m.(M))
			if err != nil {
				return unreadable
			}
			return c.value(object)
		}})
	}
	return out
}

// unreadable is shown for a value that does not fit the types of this program.
const unreadable = "<unreadable>"

func text[T convert.Object, M proto.Message](pair convert.Pair[T, M], m proto.Message, of func(T) string) string {
	object, err := pair.Object(m.(M))
	if err != nil {
		return unreadable
	}
	return of(object)
}
