package registration

import (
	"context"
	"errors"
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

// Kinds of webhooks.
const (
	mutating   = "mutating"
	validating = "validating"
)

// fieldOwner is the manager of the fields that are written here.
const fieldOwner = "raygate-operator-registrations"

// Keeper looks at the webhook configurations, and puts back what was changed. It asks the API server each time and watches nothing: the rights can be
// limited to two names, and an operator without them goes on to work. All fields are required.
type Keeper struct {
	Reader client.Reader
	Writer client.Writer
	// Registry says whether Pods without devices matter.
	Registry interface{ Program() *plan.Program }
	// Namespace is that of the operator and of its Service.
	Namespace string
	// Mutating and Validating are the names of the configurations.
	Mutating, Validating string
	// Every is how often it looks. What was deleted is created anew when it is missing for the second time, so that an operator that is being removed
	// leaves nothing behind.
	Every time.Duration
	Clock clock.WithTicker

	kept [2]kept
}

// kept is what is known of one configuration.
type kept struct {
	last    *unstructured.Unstructured // as it was last seen, nil if it never was or is to be left alone
	missing bool
	failure string
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: one replica is enough, and others do no harm.
func (*Keeper) NeedLeaderElection() bool { return true }

// Start looks until the context ends. It implements manager.Runnable.
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
			continue // somebody was faster, and is looked at the next time
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != "" && text != k.kept[i].failure { // once, not each time
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

// recreate creates a deleted configuration as it last was, with the webhooks, labels and annotations of everybody.
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
		return fmt.Errorf("creating the deleted webhook configuration anew: %w", err)
	}
	klog.FromContext(ctx).Info("Created the registration of device admission anew, which somebody had deleted", "configuration", now.GetName())
	state.last, state.missing = now, false
	return nil
}

// restored is the configuration with the webhook put back, nil if it is as it should be. Last is the configuration as it was before, if that is known.
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
	webhook, ok := webhooks[at].(map[string]any)
	if !ok {
		return nil, errors.New("the API server has a webhook that is no object")
	}
	webhook, same := restored(webhook, want)
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
		w, _ := webhooks[at].(map[string]any)
		return w
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
