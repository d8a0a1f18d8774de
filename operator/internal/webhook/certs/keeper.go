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

// caKey is the entry of the Secret that the rotator puts into the webhook configurations as it is.
const caKey = "ca.crt"

// managerOf is a manager whose client is another.
type managerOf struct {
	manager.Manager
	client client.Client
}

func (m managerOf) GetClient() client.Client { return m.client }

// keeper is the client of the rotator. It writes the Secret with the CA that was there before appended to the new one: the
// API server learns about a new CA within a second, while a replica serves the old certificate until its kubelet has brought
// the new one, a minute or two later; in between both must be good.
type keeper struct {
	client.Client
	live client.Reader
	key  types.NamespacedName
	// ended is closed when the operator ends. The rotator's own contexts do not know.
	ended <-chan struct{}
}

// Update implements client.Writer. It leaves out what changes nothing: of a CRD the API server would compile all CEL to find
// that out, which takes it seconds, for every replica that starts.
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
		// A Secret that was deleted took its CA along, and replicas still serve a certificate of it.
		var err error
		if previous, err = k.trusted(ctx); err != nil {
			return err
		}
	}
	secret.Data[caKey] = withPredecessor(secret.Data[caKey], previous)
	return nil
}

// trusted is the CA that the API server knows for conversions, which no failure policy excuses; nil if it knows none.
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

// upToDate reports whether a CRD or webhook configuration has the CA already.
func (k *keeper) upToDate(ctx context.Context, wanted *unstructured.Unstructured) bool {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(wanted.GroupVersionKind())
	if err := k.live.Get(ctx, client.ObjectKeyFromObject(wanted), found); err != nil {
		return false
	}
	return reflect.DeepEqual(wanted.Object["spec"], found.Object["spec"]) && reflect.DeepEqual(wanted.Object["webhooks"], found.Object["webhooks"])
}

// withPredecessor returns the first certificate of now, and after it the first of before if that is another one. Older
// ones go: their certificates have long been renewed.
func withPredecessor(now, before []byte) []byte {
	current, rest := pem.Decode(now)
	previous, _ := pem.Decode(before)
	if current == nil || previous == nil || bytes.Equal(current.Bytes, previous.Bytes) {
		return now // the certificate was renewed with the same CA; now holds its predecessor already
	}
	if next, _ := pem.Decode(rest); next != nil {
		return now
	}
	return append(pem.EncodeToMemory(current), pem.EncodeToMemory(previous)...)
}
