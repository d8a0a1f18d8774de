package v2

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/kubedoc"
	"github.com/raygate/raygate/pkg/kubedoc/mistake"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// lastApplied is kubectl's own copy of the object: large, secret-bearing and, once the gateway writes, wrong.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// typeMeta checks what is given and fills in what is not.
func (d *decoding) typeMeta(apiVersion, kind, wantKind string) (string, string) {
	want := rayv1.GroupVersion.String()
	if apiVersion != "" && apiVersion != want {
		d.errs = append(d.errs, kubedoc.Problem(field.NewPath("apiVersion"), mistake.BadFormat, fmt.Sprintf("expected %q, got %q", want, apiVersion)))
	}
	if kind != "" && kind != wantKind {
		d.errs = append(d.errs, kubedoc.Problem(field.NewPath("kind"), mistake.BadFormat, fmt.Sprintf("expected %q, got %q", wantKind, kind)))
	}
	return want, wantKind
}

func (d *decoding) metadata(in *raygatev2.ObjectMeta, out *metav1.ObjectMeta, path *field.Path) {
	if in == nil {
		return
	}
	out.Name = in.Name
	out.GenerateName = in.GenerateName
	out.Namespace = in.Namespace
	out.UID = types.UID(in.Uid)
	out.ResourceVersion = in.ResourceVersion
	out.Generation = in.Generation
	if t := d.time(in.CreationTimestamp, path.Child("creationTimestamp")); t != nil {
		out.CreationTimestamp = *t
	}
	out.DeletionTimestamp = d.time(in.DeletionTimestamp, path.Child("deletionTimestamp"))
	out.DeletionGracePeriodSeconds = copyOf(in.DeletionGracePeriodSeconds)
	out.Labels = stringMap(in.Labels)
	out.Annotations = withoutLastApplied(in.Annotations)
	out.Finalizers = stringsTo[string](in.Finalizers)
	out.OwnerReferences = list(d, in.OwnerReferences, path.Child("ownerReferences"), ownerReferenceToKube)
}

func metadataFromKube(in *metav1.ObjectMeta) *raygatev2.ObjectMeta {
	return &raygatev2.ObjectMeta{
		Name:                       in.Name,
		GenerateName:               in.GenerateName,
		Namespace:                  in.Namespace,
		Uid:                        string(in.UID),
		ResourceVersion:            in.ResourceVersion,
		Generation:                 in.Generation,
		CreationTimestamp:          timestamp(&in.CreationTimestamp),
		DeletionTimestamp:          timestamp(in.DeletionTimestamp),
		DeletionGracePeriodSeconds: copyOf(in.DeletionGracePeriodSeconds),
		Labels:                     stringMap(in.Labels),
		Annotations:                withoutLastApplied(in.Annotations),
		Finalizers:                 stringsTo[string](in.Finalizers),
		OwnerReferences:            mapped(in.OwnerReferences, ownerReferenceFromKube),
	}
}

// withoutLastApplied returns a copy: callers may change what they get, and informers own what comes in.
func withoutLastApplied(in map[string]string) map[string]string {
	if _, there := in[lastApplied]; there && len(in) == 1 {
		return nil
	}
	out := stringMap(in)
	delete(out, lastApplied)
	return out
}

func ownerReferenceToKube(in *raygatev2.OwnerReference, out *metav1.OwnerReference, _ *field.Path) {
	out.APIVersion = in.ApiVersion
	out.Kind = in.Kind
	out.Name = in.Name
	out.UID = types.UID(in.Uid)
	out.Controller = copyOf(in.Controller)
	out.BlockOwnerDeletion = copyOf(in.BlockOwnerDeletion)
}

func ownerReferenceFromKube(in *metav1.OwnerReference) *raygatev2.OwnerReference {
	return &raygatev2.OwnerReference{
		ApiVersion:         in.APIVersion,
		Kind:               in.Kind,
		Name:               in.Name,
		Uid:                string(in.UID),
		Controller:         copyOf(in.Controller),
		BlockOwnerDeletion: copyOf(in.BlockOwnerDeletion),
	}
}

func (d *decoding) condition(in *raygatev2.Condition, out *metav1.Condition, path *field.Path) {
	out.Type = in.Type
	out.Status = metav1.ConditionStatus(in.Status)
	out.ObservedGeneration = in.ObservedGeneration
	if t := d.time(in.LastTransitionTime, path.Child("lastTransitionTime")); t != nil {
		out.LastTransitionTime = *t
	}
	out.Reason = in.Reason
	out.Message = in.Message
}

func conditionFromKube(in *metav1.Condition) *raygatev2.Condition {
	return &raygatev2.Condition{
		Type:               in.Type,
		Status:             string(in.Status),
		ObservedGeneration: in.ObservedGeneration,
		LastTransitionTime: timestamp(&in.LastTransitionTime),
		Reason:             in.Reason,
		Message:            in.Message,
	}
}
