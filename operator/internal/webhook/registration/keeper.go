// Package registration restores the webhook configurations of device admission if they are changed or deleted. Without them, Pods
// with devices would pass unchanged and uncounted, and nobody would notice.
//
// The wanted state is the manifest of the component, which is embedded in the operator, for the scope in the annotation of the
// configuration. A configuration without the annotation is left alone, so installers decide and the operator never undoes an
// upgrade. Other values, such as webhooks, match conditions and namespace expressions of other owners, stay.
package registration

import (
	"context"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/pkg/devices/plan"
)

// Kinds of webhook configurations.
const (
	mutating   = "mutating"
	validating = "validating"
)

// fieldOwner is the field manager of this package's writes.
const fieldOwner = "raygate-operator-registrations"

// Keeper checks the webhook configurations and restores what was changed. It reads from the API server and uses no watch, so that
// its permissions can be limited to two names. An operator without these permissions still works. All fields are required.
type Keeper struct {
	Reader client.Reader
	Writer client.Writer
	// Registry provides the program, which decides whether Pods without devices matter.
	Registry interface{ Program() *plan.Program }
	// Namespace is the namespace of the operator and its Service.
	Namespace string
	// Mutating and Validating are the names of the configurations.
	Mutating, Validating string
	// Every is the interval of checks. A deleted configuration is recreated when it is missing for the second time, so that an
	// uninstalled operator leaves nothing behind.
	Every time.Duration
	Clock clock.WithTicker

	kept [2]kept
}

// kept is the state of one configuration.
type kept struct {
	last    *unstructured.Unstructured // last seen version; nil if never seen or not managed
	missing bool
	failure string
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: one replica is enough.
func (*Keeper) NeedLeaderElection() bool { return true }

// Start checks until the context ends. It implements manager.Runnable.
func (k *Keeper) Start(ctx context.Context) error {
	ticker := k.Clock.NewTicker(k.Every)
	defer ticker.Stop()
	for {
		k.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

func (k *Keeper) look(ctx context.Context) {
	for i, kind := range []string{mutating, validating} {
		err := k.keep(ctx, kind, &k.kept[i])
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || ctx.Err() != nil {
			continue // another client was faster; check again next time
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != "" && text != k.kept[i].failure { // log each failure once
			klog.FromContext(ctx).Error(err, "The registration of device admission is not kept", "kind", kind)
		}
		k.kept[i].failure = text
	}
}

func (k *Keeper) keep(ctx context.Context, kind string, state *kept) error {
	is := k.configuration(kind)
	err := k.Reader.Get(ctx, client.ObjectKeyFromObject(is), is)
	switch {
	case apierrors.IsNotFound(err):
		return k.recreate(ctx, state)
	case err != nil:
		return fmt.Errorf("reading the webhook configuration: %w", err)
	case is.GetDeletionTimestamp() != nil:
		return nil
	case is.GetAnnotations()[AnnotationScope] == "":
		*state = kept{}
		return nil
	}
	now, err := k.restored(kind, is, state.last)
	if err != nil {
		return err
	}
	if now != nil {
		if err := k.Writer.Update(ctx, now, client.FieldOwner(fieldOwner)); err != nil {
			return fmt.Errorf("putting back the registration: %w", err)
		}
		klog.FromContext(ctx).Info("Put back the registration of device admission, which somebody had changed", "configuration", is.GetName(), "kind", kind)
		is = now
	}
	state.last, state.missing = is, false
	return nil
}

// recreate creates a deleted configuration from its last version, with all webhooks, labels and annotations.
func (k *Keeper) recreate(ctx context.Context, state *kept) error {
	if state.last == nil {
		return nil
	}
	if !state.missing {
		state.missing = true
		return nil
	}
	now := state.last.DeepCopy()
	now.Object["metadata"] = map[string]any{"name": now.GetName()}
	now.SetLabels(state.last.GetLabels())
	now.SetAnnotations(state.last.GetAnnotations())
	now.SetOwnerReferences(state.last.GetOwnerReferences())
	if err := k.Writer.Create(ctx, now, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("creating the deleted webhook configuration again: %w", err)
	}
	klog.FromContext(ctx).Info("Created the deleted registration of device admission again", "configuration", now.GetName())
	state.last, state.missing = now, false
	return nil
}

// restored returns the configuration with the operator's webhook restored, or nil if nothing differs. last is the previous
// version, if it is known.
func (k *Keeper) restored(kind string, is, last *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	want, err := wanted(kind, k.Namespace, is.GetAnnotations(), k.Registry.Program().SetsAbsentEnv())
	if err != nil {
		return nil, err
	}
	now := is.DeepCopy()
	webhooks := items(now.Object, "webhooks")
	at := slices.IndexFunc(webhooks, sameName(want))
	if at < 0 {
		missing := want
		if before := webhookOf(last, want); before != nil {
			missing, _ = restored(before, want) // with the CA, so that it works at once
		}
		now.Object["webhooks"] = append(webhooks, missing)
		return now, nil
	}
	webhook, same := restored(webhooks[at].(map[string]any), want) // only an object has a name
	if same {
		return nil, nil
	}
	webhooks[at] = webhook
	return now, nil
}

func webhookOf(configuration *unstructured.Unstructured, want map[string]any) map[string]any {
	if configuration == nil {
		return nil
	}
	webhooks := items(configuration.Object, "webhooks")
	if at := slices.IndexFunc(webhooks, sameName(want)); at >= 0 {
		return webhooks[at].(map[string]any) // only an object has a name
	}
	return nil
}

func (k *Keeper) configuration(kind string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	name, object := k.Mutating, "MutatingWebhookConfiguration"
	if kind == validating {
		name, object = k.Validating, "ValidatingWebhookConfiguration"
	}
	u.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind(object))
	u.SetName(name)
	return u
}
