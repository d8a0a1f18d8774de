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
	keys, err := secretKeys(ctx, c, o.PageTokenSecret)
	if err != nil {
		return fmt.Errorf("reading --page-token-secret %s: %w", o.PageTokenSecret, err)
	}
	o.pageTokenKeys = append(keys, o.pageTokenKeys...)
	return nil
}

// secretKeys returns the secrets of tokens in a Secret. The first replica that finds it without one makes it.
func secretKeys(ctx context.Context, c rest.Interface, secret string) (keys [][]byte, err error) {
	namespace, name, _ := strings.Cut(secret, "/")
	var found *corev1.Secret
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		found = &corev1.Secret{} // what is read is put into what is there
		if err := c.Get().Namespace(namespace).Resource("secrets").Name(name).Do(ctx).Into(found); err != nil || len(found.Data[tokenKey]) > 0 {
			return err
		}
		made := make([]byte, minTokenKey)
		_, _ = rand.Read(made) // never fails since Go 1.24
		if found.Data == nil {
			found.Data = map[string][]byte{}
		}
		found.Data[tokenKey] = made
		return c.Put().Namespace(namespace).Resource("secrets").Name(name).Body(found).Do(ctx).Into(found)
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
