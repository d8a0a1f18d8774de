package rest

import (
	"context"
	"errors"
	"io"
	"net/http"

	"google.golang.org/grpc/codes"

	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// maxObject is the longest body of an object in bytes. etcd takes 1.5 MiB; YAML may be somewhat longer than the stored form.
const maxObject = 3 << 20

// decodedCopies is the approximate memory of a decoded body, in multiples of its length.
const decodedCopies = 8

// ErrBodyIncomplete is for a body that ends before its announced length.
var ErrBodyIncomplete = &rpcstatus.Error{Code: codes.InvalidArgument, Reason: "BODY_INCOMPLETE", Message: "the request body ended early"}

// ReadObject reads the body of a request, an object, for which there must be room.
func ReadObject(ctx context.Context, w http.ResponseWriter, r *http.Request, visit *flowcontrol.Visit) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		LiftReadLimit(w)
		return nil, nil
	}
	tooLarge := &rpcstatus.Error{Code: codes.ResourceExhausted, Reason: "TOO_LARGE", Message: "the request body is longer than 3 MiB; Kubernetes stores objects of up to 1.5 MiB"}
	length := r.ContentLength
	switch {
	case length > maxObject:
		return nil, tooLarge
	case length < 0:
		length = maxObject
	}
	if err := visit.Body(ctx, decodedCopies*length); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxObject))
	if big := (*http.MaxBytesError)(nil); errors.As(err, &big) {
		return nil, tooLarge
	}
	if err != nil {
		return nil, ErrBodyIncomplete
	}
	visit.Shrink(decodedCopies * int64(len(data)))
	LiftReadLimit(w)
	return data, nil
}
