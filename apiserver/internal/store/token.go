package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// pageTokenLife is how long a page token is good for. Lists are live, so a token holds nothing on the server; the limit keeps old
// tokens from being taken for bookmarks.
const pageTokenLife = time.Hour

// pageCursor is the last item of a page: its values in the order asked for, then its key.
type pageCursor struct {
	Values    []string `json:"v,omitempty"`
	Namespace string   `json:"n,omitempty"`
	Name      string   `json:"o"`
}

// tokenSealer makes and reads page tokens: expiry, cursor, and a MAC over both and the query.
type tokenSealer struct {
	key   []byte
	clock clock.PassiveClock
}

func (t tokenSealer) mac(body []byte, query string) []byte {
	h := hmac.New(sha256.New, t.key)
	h.Write(body)
	h.Write([]byte{0})
	h.Write([]byte(query))
	return h.Sum(nil)[:16]
}

func (t tokenSealer) seal(c pageCursor, query string) string {
	body := binary.BigEndian.AppendUint64(nil, uint64(t.clock.Now().Add(pageTokenLife).Unix()))
	cursor, _ := json.Marshal(c) // strings only: cannot fail
	body = append(body, cursor...)
	return base64.RawURLEncoding.EncodeToString(append(t.mac(body, query), body...))
}

func (t tokenSealer) open(token, query string) (pageCursor, error) {
	var c pageCursor
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) < 24 {
		return c, ErrPageToken
	}
	mac, body := raw[:16], raw[16:]
	if !hmac.Equal(mac, t.mac(body, query)) {
		return c, ErrPageToken
	}
	if t.clock.Now().Unix() > int64(binary.BigEndian.Uint64(body)) {
		return c, ErrPageTokenExpired
	}
	if err := json.Unmarshal(body[8:], &c); err != nil {
		return c, ErrPageToken
	}
	return c, nil
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
