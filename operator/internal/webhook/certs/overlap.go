package certs

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// caKey is the entry of the Secret that the rotator puts into the webhook configurations as it is.
const caKey = "ca.crt"

// overlapping is a manager whose client is another.
type overlapping struct {
	manager.Manager
	client client.Client
}

func (o overlapping) GetClient() client.Client { return o.client }

// keeper writes the Secret with the CA that was there before appended to the new one. The API server learns about a new
// CA within a second, while a replica serves the old certificate until its kubelet has brought the new one, a minute or
// two later; in between both must be good.
type keeper struct {
	client.Client
	live client.Reader
	key  types.NamespacedName
}

// Update implements client.Writer.
func (k *keeper) Update(ctx context.Context, obj client.Object, opts ...client.UpdateOption) error {
	secret, ok := obj.(*corev1.Secret)
	if !ok || client.ObjectKeyFromObject(obj) != k.key {
		return k.Client.Update(ctx, obj, opts...)
	}
	var before corev1.Secret
	if err := k.live.Get(ctx, k.key, &before); err != nil {
		return fmt.Errorf("reading the Secret of the webhook certificate: %w", err)
	}
	secret.Data[caKey] = withPredecessor(secret.Data[caKey], before.Data[caKey])
	return k.Client.Update(ctx, obj, opts...)
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
