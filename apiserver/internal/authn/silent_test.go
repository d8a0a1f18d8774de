package authn_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/raygate/raygate/apiserver/internal/authn"
)

// An API server that takes a question and never answers is away. The time of the question is not a deadline of the caller.
func TestQuestionWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := authn.NewVerdicts[int](nil).Get(t.Context(), "a", func(ctx context.Context) (authn.Answer[int], error) {
			<-ctx.Done()
			return authn.Answer[int]{}, fmt.Errorf("asking: %w", ctx.Err())
		})
		if !apierrors.IsServiceUnavailable(err) {
			t.Errorf("got %v", err)
		}
	})
}
