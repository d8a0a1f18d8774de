package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// key implements op.SigningKey.
type key struct {
	id      string
	private *ecdsa.PrivateKey
}

func (k *key) ID() string                                  { return k.id }
func (k *key) Key() any                                    { return k.private }
func (k *key) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.ES256 }

// publicKey implements op.Key.
type publicKey struct{ *key }

func (k publicKey) Key() any                           { return k.private.Public() }
func (k publicKey) Use() string                        { return "sig" }
func (k publicKey) Algorithm() jose.SignatureAlgorithm { return jose.ES256 }

// rotate replaces the signing key; the old one is no longer published.
func (s *storage) rotate() error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = &key{rand.Text(), private}
	return nil
}

func (s *storage) current() *key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key
}

// SigningKey implements op.Storage.
func (s *storage) SigningKey(context.Context) (op.SigningKey, error) { return s.current(), nil }

// KeySet implements op.Storage.
func (s *storage) KeySet(context.Context) ([]op.Key, error) {
	return []op.Key{publicKey{s.current()}}, nil
}

// SignatureAlgorithms implements op.Storage.
func (s *storage) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.ES256}, nil
}
