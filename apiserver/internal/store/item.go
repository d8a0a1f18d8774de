package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/apiserver/internal/encoding"
	"github.com/raygate/raygate/pkg/manifest"
)

const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// Item is one version of one object: its stored JSON without managed fields and last-applied annotation, and its decoded metadata. All other forms are made
// of the JSON. An Item is shared between readers and must not be changed.
type Item struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	// Views hold encoded forms of this version; see encoding.Cache.
	Views encoding.Views

	raw []byte
	key types.NamespacedName
	rv  uint64
}

// ParseItem reads the JSON of an object.
func ParseItem(data []byte) (*Item, error) {
	i := &Item{}
	if err := i.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	return i, nil
}

// omitted are the members of objects that are not kept.
var omitted = []string{"metadata.managedFields", "metadata.selfLink", "metadata.annotations." + gjson.Escape(lastAppliedAnnotation)}

// UnmarshalJSON implements json.Unmarshaler, by which the reflector's decoder fills an Item.
func (i *Item) UnmarshalJSON(data []byte) error {
	root := gjson.ParseBytes(data)
	meta := root.Get("metadata")
	if !gjson.ValidBytes(data) || !root.IsObject() || !meta.IsObject() {
		return fmt.Errorf("reading an object: no JSON with metadata in %d bytes", len(data))
	}
	trimmed := data
	for _, path := range omitted {
		var err error
		if trimmed, err = sjson.DeleteBytes(trimmed, path); err != nil {
			return fmt.Errorf("reading an object: leaving out %s: %w", path, err)
		}
	}
	if gjson.GetBytes(trimmed, "metadata.annotations").Raw == "{}" {
		trimmed, _ = sjson.DeleteBytes(trimmed, "metadata.annotations") // it is there
	}
	i.raw = bytes.Clone(trimmed) // of its own, and no longer than need be
	i.TypeMeta = metav1.TypeMeta{APIVersion: root.Get("apiVersion").String(), Kind: root.Get("kind").String()}
	if err := json.Unmarshal([]byte(gjson.GetBytes(i.raw, "metadata").Raw), &i.ObjectMeta); err != nil {
		return fmt.Errorf("reading metadata: %w", err)
	}
	i.key, i.rv = keyOf(i), parseVersion(i.ResourceVersion)
	return nil
}

// ofKind fills in apiVersion and kind, which the API server leaves out of the items of its own kinds' lists.
func (i *Item) ofKind(gvk schema.GroupVersionKind) {
	if i.Kind != "" {
		return
	}
	i.APIVersion, i.Kind = gvk.ToAPIVersionAndKind()
	head := fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,`, i.APIVersion, i.Kind)
	i.raw = slices.Concat(head, i.raw[1:])
}

// JSON returns the stored object, which must not be changed.
func (i *Item) JSON() []byte { return i.raw }

// At returns the value at a path of gjson's syntax, such as status.state.
func (i *Item) At(path string) gjson.Result { return gjson.GetBytes(i.raw, path) }

// Tree returns a fresh copy of the object as unstructured.Unstructured keeps it.
func (i *Item) Tree() (map[string]any, error) { return manifest.ParseTree(i.raw) }

// GetObjectKind implements runtime.Object. Decoders of client-go clear what it returns; the kind of an Item does not change.
func (i *Item) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// Key returns namespace and name.
func (i *Item) Key() types.NamespacedName { return i.key }

// DeepCopyObject implements runtime.Object. An Item does not change, so that it is its own copy.
func (i *Item) DeepCopyObject() runtime.Object { return i }

// itemList is the decoded answer to a list request.
type itemList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Item `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *itemList) DeepCopyObject() runtime.Object { return l }

// NewScheme returns a scheme in which the kinds decode into Items.
func NewScheme(kinds ...schema.GroupVersionKind) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, gvk := range kinds {
		metav1.AddToGroupVersion(scheme, gvk.GroupVersion())
		scheme.AddKnownTypeWithName(gvk, &Item{})
		scheme.AddKnownTypeWithName(gvk.GroupVersion().WithKind(gvk.Kind+"List"), &itemList{})
	}
	return scheme
}

// parseVersion parses a resourceVersion as a number: since Kubernetes 1.35 clients may compare them. Other texts count as zero, which is
// older than all others.
func parseVersion(rv string) uint64 {
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func keyOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
