package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
)

// minTokenKey is the shortest secret of tokens in bytes, tokenKey the name of the one in a Secret that makes them.
const (
	minTokenKey = 32
	tokenKey    = "key"
)

// readPageTokenKeys reads the files with secrets of tokens.
func (o *Options) readPageTokenKeys() error {
	for _, file := range o.PageTokenKeyFiles {
		key, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading --page-token-key-file: %w", err)
		}
		if len(key) < minTokenKey {
			return fmt.Errorf("--page-token-key-file %s has %d bytes, want at least %d", file, len(key), minTokenKey)
		}
		o.pageTokenKeys = append(o.pageTokenKeys, key)
	}
	if len(o.pageTokenKeys) > 0 || o.TLSKeyFile == "" {
		return nil
	}
	// All replicas have the same TLS key until the certificate is renewed and one of them restarts.
	key, err := os.ReadFile(o.TLSKeyFile)
	if err != nil {
		return fmt.Errorf("reading --tls-private-key-file: %w", err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("raygate page tokens"))
	o.pageTokenKeys = [][]byte{mac.Sum(nil)}
	return nil
}

// addPageTokenSecret puts the secrets of --page-token-secret before the others.
func (o *Options) addPageTokenSecret(ctx context.Context, c rest.Interface) error {
	if o.PageTokenSecret == "" {
		return nil
	}
	keys, err := newSharedSecret(c, o.PageTokenSecret).keys(ctx)
	if err != nil {
		return fmt.Errorf("reading --page-token-secret %s: %w", o.PageTokenSecret, err)
	}
	o.pageTokenKeys = append(keys, o.pageTokenKeys...)
	return nil
}

// sharedSecret is the Secret of --page-token-secret.
type sharedSecret struct {
	client          rest.Interface
	namespace, name string
}

func newSharedSecret(c rest.Interface, key string) sharedSecret {
	namespace, name, _ := strings.Cut(key, "/")
	return sharedSecret{c, namespace, name}
}

// change writes the Secret if do changes it and returns true, and returns what is stored. It does so again if another replica was faster.
func (s sharedSecret) change(ctx context.Context, do func(*corev1.Secret) bool) (found *corev1.Secret, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		found = &corev1.Secret{} // what is read is put into what is there
		if err := s.client.Get().Namespace(s.namespace).Resource("secrets").Name(s.name).Do(ctx).Into(found); err != nil || !do(found) {
			return err
		}
		return s.client.Put().Namespace(s.namespace).Resource("secrets").Name(s.name).Body(found).Do(ctx).Into(found)
	})
	return found, err
}

// keys returns the secrets of tokens. The first replica that finds the Secret without one makes it.
func (s sharedSecret) keys(ctx context.Context) (keys [][]byte, err error) {
	found, err := s.change(ctx, func(found *corev1.Secret) bool {
		if len(found.Data[tokenKey]) > 0 {
			return false
		}
		made := make([]byte, minTokenKey)
		_, _ = rand.Read(made) // never fails since Go 1.24
		if found.Data == nil {
			found.Data = map[string][]byte{}
		}
		found.Data[tokenKey] = made
		return true
	})
	if err != nil {
		return nil, err
	}
	keys = append(keys, found.Data[tokenKey])
	for name, key := range found.Data {
		if name != tokenKey {
			keys = append(keys, key)
		}
		if len(key) < minTokenKey {
			return nil, fmt.Errorf("%s has %d bytes, want at least %d", name, len(key), minTokenKey)
		}
	}
	return keys, nil
}

// endedSessions is the annotation of the Secret with the text of login.Board. It is none of the entries, since each of them is a secret of tokens.
const endedSessions = "raygate.io/ended-sessions"

// Update implements login.Board.
func (s sharedSecret) Update(ctx context.Context, change func(text string) string) error {
	_, err := s.change(ctx, func(found *corev1.Secret) bool {
		before := found.Annotations[endedSessions]
		after := change(before)
		metav1.SetMetaDataAnnotation(&found.ObjectMeta, endedSessions, after)
		return after != before
	})
	return err
}
