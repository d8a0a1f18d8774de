package certs

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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
	go func() {
		select {
		case <-k.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
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
	secret.Data[caKey] = withPredecessor(secret.Data[caKey], before.Data[caKey])
	return nil
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
