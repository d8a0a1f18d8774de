package interceptor

import (
	"context"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// WarningKey is the metadata key, and the header, of warnings.
const WarningKey = "warning"

// Limits of the warnings in headers.
const (
	maxWarnings      = 20
	maxWarningLength = 500
)

type warningsKey struct{}

type warnings struct {
	mu    sync.Mutex
	texts []string
}

// AddWarning adds a warning for the client of a successful call. Outside of a call it does nothing.
func AddWarning(ctx context.Context, text string) {
	w, ok := ctx.Value(warningsKey{}).(*warnings)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.texts) < maxWarnings && !slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
}

// Warnings collects the warnings of a unary call and sends them in the format of RFC 7234, as Kubernetes does: in the headers, for REST
// clients, and in the trailers.
func Warnings() Interceptor {
	return func(ctx context.Context, c *Call, next func(context.Context) error) error {
		if c.stream != nil {
			return next(ctx)
		}
		w := &warnings{}
		err := next(context.WithValue(ctx, warningsKey{}, w))
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, text := range w.texts {
			md := metadata.Pairs(WarningKey, warningHeader(text))
			_ = grpc.SetHeader(ctx, md)
			_ = grpc.SetTrailer(ctx, md)
		}
		return err
	}
}

// warningHeader writes a text as `299 - "text"` in printable ASCII, as headers demand.
func warningHeader(text string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '"' || r == '\\':
			return '\''
		case r < ' ' || r > '~':
			return ' '
		}
		return r
	}, text)
	if len(clean) > maxWarningLength {
		clean = clean[:maxWarningLength-3] + "..."
	}
	return `299 - "` + clean + `"`
}
