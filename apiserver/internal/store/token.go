package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/raygate/raygate/apiserver/internal/seal"
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

// Tokens makes and reads page tokens, which are sealed for their query.
type Tokens struct {
	box   *seal.Box
	clock clock.PassiveClock
}

// NewTokens returns Tokens with keys as those of seal.New. A nil clock means the real one.
func NewTokens(keys [][]byte, c clock.PassiveClock) Tokens {
	return Tokens{seal.New(keys, "raygate page tokens"), cmp.Or[clock.PassiveClock](c, clock.RealClock{})}
}

type pageToken struct {
	Expires int64           `json:"e"` // seconds since 1970
	Content json.RawMessage `json:"c"`
}

// Seal returns the token of content, which has texts and numbers only, for a query.
func (t Tokens) Seal(content any, query string) string {
	text, _ := json.Marshal(content) // of such content it never fails
	return t.box.Seal(pageToken{t.clock.Now().Add(pageTokenLife).Unix(), text}, query)
}

// Open reads the content of a token for a query, or returns ErrPageToken or ErrPageTokenExpired.
func (t Tokens) Open(token, query string, content any) error {
	var found pageToken
	switch {
	case t.box.Open(token, query, &found) != nil:
		return ErrPageToken
	case t.clock.Now().Unix() > found.Expires:
		return ErrPageTokenExpired
	case json.Unmarshal(found.Content, content) != nil:
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
