package store

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// pageTokenLife is the lifetime of a page token. Lists are live, so a token needs no state on the server; the limit prevents the use of old
// tokens as bookmarks.
const pageTokenLife = time.Hour

// pageCursor is the last item of a page: its values in the requested order, then its key.
type pageCursor struct {
	// Version of the first page.
	Version   string   `json:"r,omitempty"`
	Values    []string `json:"v,omitempty"`
	Namespace string   `json:"n,omitempty"`
	Name      string   `json:"o"`
}

// Tokens makes and reads page tokens: expiry, content, and a MAC over both and the query.
type Tokens struct {
	keys  [][]byte
	clock clock.PassiveClock
}

// NewTokens returns Tokens with keys that replicas share: the first seals, all open, so that a key can be replaced. Without keys it
// generates one, so that tokens end with the process. A nil clock means the real one.
func NewTokens(keys [][]byte, c clock.PassiveClock) Tokens {
	if len(keys) == 0 {
		keys = [][]byte{make([]byte, sha256.Size)}
		_, _ = rand.Read(keys[0]) // never fails since Go 1.24
	}
	return Tokens{keys, cmp.Or[clock.PassiveClock](c, clock.RealClock{})}
}

func macOf(key, body []byte, query string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(body)
	h.Write([]byte{0})
	h.Write([]byte(query))
	return h.Sum(nil)[:16]
}

// Seal returns the token of content, which must be JSON-encodable, for a query.
func (t Tokens) Seal(content any, query string) string {
	body := binary.BigEndian.AppendUint64(nil, uint64(t.clock.Now().Add(pageTokenLife).Unix()))
	text, _ := json.Marshal(content) // texts and numbers: cannot fail
	body = append(body, text...)
	return base64.RawURLEncoding.EncodeToString(append(macOf(t.keys[0], body, query), body...))
}

// Open reads the content of a token for a query, or returns ErrPageToken or ErrPageTokenExpired.
func (t Tokens) Open(token, query string, content any) error {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) < 24 {
		return ErrPageToken
	}
	mac, body := raw[:16], raw[16:]
	if !slices.ContainsFunc(t.keys, func(key []byte) bool { return hmac.Equal(mac, macOf(key, body, query)) }) {
		return ErrPageToken
	}
	if t.clock.Now().Unix() > int64(binary.BigEndian.Uint64(body)) {
		return ErrPageTokenExpired
	}
	if json.Unmarshal(body[8:], content) != nil {
		return ErrPageToken
	}
	return nil
}

// A resume token is only a resourceVersion behind a prefix: forging one gains nothing that a fresh watch would not show, and any
// replica can read it.
const resumePrefix = "w1."

func resumeToken(version uint64) string {
	return resumePrefix + strconv.FormatUint(version, 36)
}

func parseResumeToken(token string) (uint64, error) {
	text, ok := strings.CutPrefix(token, resumePrefix)
	if !ok {
		return 0, ErrResumeToken
	}
	version, err := strconv.ParseUint(text, 36, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrResumeToken, err)
	}
	return version, nil
}
