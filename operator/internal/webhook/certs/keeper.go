package certs

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// caKey is the key of the Secret whose value the rotator copies into the webhook configurations.
const caKey = "ca.crt"

// managerOf is a manager with another client.
type managerOf struct {
	manager.Manager
	client client.Client
}

func (m managerOf) GetClient() client.Client { return m.client }

// keeper creates the Secret if it is missing, and is the client of the rotator. It writes the Secret with the previous CA appended to
// the new one. The API server learns about a new CA within a second, while a replica serves the old certificate for a minute or two,
// until its kubelet has updated the files. Both CAs must be valid in between.
type keeper struct {
	client.Client
	live client.Reader
	key  types.NamespacedName
	// ended is closed when the operator ends. The rotator's own contexts do not reflect that.
	ended <-chan struct{}
}

// Update implements client.Writer. It skips updates without changes: for a CRD, the API server would compile all CEL rules to
// detect that, which takes seconds for every replica that starts.
func (k *keeper) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(wait.ContextForChannel(k.ended), cancel)()
	switch o := obj.(type) {
	case *corev1.Secret:
		if err := k.keepPredecessor(ctx, o); err != nil {
			return err
		}
	case *unstructured.Unstructured:
		if k.upToDate(ctx, o) {
			return nil
		}
	}
	return k.Client.Update(ctx, obj, opts...)
}

func (k *keeper) keepPredecessor(ctx context.Context, secret *corev1.Secret) error {
	if client.ObjectKeyFromObject(secret) != k.key {
		return nil
	}
	var before corev1.Secret
	if err := k.live.Get(ctx, k.key, &before); err != nil {
		return fmt.Errorf("reading the Secret of the webhook certificate: %w", err)
	}
	previous := before.Data[caKey]
	if len(previous) == 0 {
		// A deleted Secret took its CA along, while replicas still serve a certificate of that CA.
		var err error
		if previous, err = k.trusted(ctx); err != nil {
			return err
		}
	}
	secret.Data[caKey] = withPredecessor(secret.Data[caKey], previous)
	return nil
}

// trusted returns the CA that the API server uses for conversions, to which no failure policy applies; nil if there is none.
func (k *keeper) trusted(ctx context.Context) ([]byte, error) {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	if err := k.live.Get(ctx, client.ObjectKey{Name: CRDs[0]}, crd); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading the CA of conversions: %w", err)
	}
	text, _, err := unstructured.NestedString(crd.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
	if err != nil {
		return nil, fmt.Errorf("reading the CA of conversions: %w", err)
	}
	bundle, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("reading the CA of conversions: %w", err)
	}
	return bundle, nil
}

// upToDate reports whether a CRD or webhook configuration already has the CA.
func (k *keeper) upToDate(ctx context.Context, wanted *unstructured.Unstructured) bool {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(wanted.GroupVersionKind())
	if err := k.live.Get(ctx, client.ObjectKeyFromObject(wanted), found); err != nil {
		return false
	}
	return reflect.DeepEqual(wanted.Object["spec"], found.Object["spec"]) && reflect.DeepEqual(wanted.Object["webhooks"], found.Object["webhooks"])
}

// withPredecessor returns the first certificate of now, followed by the first one of before if it differs. Older ones are dropped,
// because their certificates were renewed long ago.
func withPredecessor(now, before []byte) []byte {
	current, rest := pem.Decode(now)
	previous, _ := pem.Decode(before)
	if current == nil || previous == nil || bytes.Equal(current.Bytes, previous.Bytes) {
		return now // renewed with the same CA; now already contains the predecessor
	}
	if next, _ := pem.Decode(rest); next != nil {
		return now
	}
	return append(pem.EncodeToMemory(current), pem.EncodeToMemory(previous)...)
}
