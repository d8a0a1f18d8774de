// Package seal encrypts what the gateway gives to a client and takes back: page tokens, tickets of dashboards, URLs of packages, and sessions of the console.
// Nothing is stored: every process with the same key opens it.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
)

// maxText is the longest text that is read, in bytes: the content has at most a few tokens.
const maxText = 60 << 10

// ErrSeal reports a text that no key opens, or that has another purpose.
var ErrSeal = errors.New("sealed with another key, or changed")

// Box seals and opens texts.
type Box struct {
	seals []cipher.AEAD // the first one seals, all open
}

// New returns a Box of keys that replicas share: the first one seals, all open. None means a key of this process alone. Boxes with different labels
// do not open each other's texts.
func New(shared [][]byte, label string) *Box {
	if len(shared) == 0 {
		key := make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
		shared = [][]byte{key}
	}
	b := &Box{}
	for _, key := range shared {
		mac := hmac.New(sha256.New, key) // the same secret keys page tokens
		mac.Write([]byte(label))
		block, _ := aes.NewCipher(mac.Sum(nil)) // fails for another length of the key only
		seal, _ := cipher.NewGCMWithRandomNonce(block)
		b.seals = append(b.seals, seal)
	}
	return b
}

// Seal returns the text of content, which has texts and numbers only. The purpose is authenticated with it.
func (b *Box) Seal(content any, purpose string) string {
	plain, _ := json.Marshal(content) // of such content it never fails
	return base64.RawURLEncoding.EncodeToString(b.seals[0].Seal(nil, nil, plain, []byte(purpose)))
}

// Open reads the content of a text with a purpose, or returns ErrSeal.
func (b *Box) Open(text, purpose string, content any) error {
	data, err := base64.RawURLEncoding.Strict().DecodeString(text[:min(len(text), maxText)])
	if err != nil {
		return ErrSeal
	}
	for _, seal := range b.seals {
		if plain, err := seal.Open(nil, nil, data, []byte(purpose)); err == nil {
			return json.Unmarshal(plain, content)
		}
	}
	return ErrSeal
}
