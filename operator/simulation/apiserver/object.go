package apiserver

import (
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lingers reports whether a Pod is on a node, so that the kubelet removes it after its containers have ended.
func lingers(o client.Object) bool {
	p, ok := o.(*corev1.Pod)
	return ok && p.Spec.NodeName != "" && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

func statusOf(o client.Object) reflect.Value { return reflect.ValueOf(o).Elem().FieldByName("Status") }

func hasStatus(o client.Object) bool {
	if _, ok := o.(*unstructured.Unstructured); ok {
		return true
	}
	return statusOf(o).IsValid()
}

// withStatus returns a copy of one object with the status of another.
func withStatus(o, status client.Object) client.Object {
	next := o.DeepCopyObject().(client.Object)
	if u, ok := next.(*unstructured.Unstructured); ok {
		delete(u.Object, "status")
		if st, found := status.(*unstructured.Unstructured).Object["status"]; found {
			u.Object["status"] = runtime.DeepCopyJSONValue(st)
		}
		return next
	}
	statusOf(next).Set(statusOf(status.DeepCopyObject().(client.Object)))
	return next
}

// sameSpec reports whether two objects differ at most in metadata and status.
func sameSpec(a, b client.Object) bool {
	if u, ok := a.(*unstructured.Unstructured); ok {
		return equality.Semantic.DeepEqual(u.Object["spec"], b.(*unstructured.Unstructured).Object["spec"])
	}
	va, vb := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range va.NumField() {
		switch va.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
		default:
			if !equality.Semantic.DeepEqual(va.Field(i).Interface(), vb.Field(i).Interface()) {
				return false
			}
		}
	}
	return true
}

var metaTime = reflect.TypeFor[metav1.Time]()

// truncate rounds times down to seconds, the precision of JSON.
func truncate(o client.Object) {
	if _, ok := o.(*unstructured.Unstructured); ok {
		return
	}
	if st := statusOf(o); st.IsValid() {
		truncateIn(st)
	}
}

func truncateIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			truncateIn(v.Elem())
		}
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k == reflect.Struct || k == reflect.Pointer {
			for i := range v.Len() {
				truncateIn(v.Index(i))
			}
		}
	case reflect.Struct:
		if v.Type() == metaTime {
			t := v.Addr().Interface().(*metav1.Time)
			t.Time = t.Truncate(time.Second)
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				truncateIn(v.Field(i))
			}
		}
	}
}

// assign copies a stored object into the caller's object.
func assign(to, from client.Object) {
	switch to := to.(type) {
	case *unstructured.Unstructured:
		from.(*unstructured.Unstructured).DeepCopyInto(to)
		return
	case *metav1.PartialObjectMetadata:
		metadataOf(from, to.GroupVersionKind()).DeepCopyInto(to)
		return
	}
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from.DeepCopyObject()).Elem())
}

// fill sets the items of a list.
func fill(list client.ObjectList, items []client.Object, copies bool) error {
	if u, ok := list.(*unstructured.UnstructuredList); ok {
		u.Items = nil
		for _, o := range items {
			u.Items = append(u.Items, *o.DeepCopyObject().(*unstructured.Unstructured))
		}
		return nil
	}
	ptr, err := meta.GetItemsPtr(list)
	if err != nil {
		return err
	}
	slice := reflect.ValueOf(ptr).Elem()
	out := reflect.MakeSlice(slice.Type(), len(items), len(items))
	for i, o := range items {
		if copies {
			o = o.DeepCopyObject().(client.Object)
		}
		out.Index(i).Set(reflect.ValueOf(o).Elem())
	}
	slice.Set(out)
	return nil
}

// metadataOf returns only the metadata of an object.
func metadataOf(o client.Object, gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	if m, ok := o.(*metav1.PartialObjectMetadata); ok {
		return m
	}
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), Generation: o.GetGeneration(),
		CreationTimestamp: o.GetCreationTimestamp(), DeletionTimestamp: o.GetDeletionTimestamp(), Labels: o.GetLabels(),
		Annotations: o.GetAnnotations(), OwnerReferences: o.GetOwnerReferences(), Finalizers: o.GetFinalizers(),
	}}
	m.SetGroupVersionKind(gvk)
	return m.DeepCopy()
}
