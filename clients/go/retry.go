package raygate

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// defaultRetries is the default of Options.Retries.
const defaultRetries = 5

// newBackoff is the time between tries when the gateway gives no hint, and of watches between two streams.
func newBackoff(steps int) wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: steps, Cap: 10 * time.Second}
}

// repeatable are the verbs that leave things the same when they are done twice.
var repeatable = []string{"Get", "List", "Wait", "Diagnose", "Update", "Replace", "Apply", "Suspend", "Resume", "Scale", "Stop"}

// retry repeats calls after temporary failures. It fills in an empty request_id, so that the retry of a create returns the object that the
// first attempt created.
func retry(retries int, clk clock.Clock) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, resp any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if m, ok := req.(proto.Message); ok {
			req = withRequestID(m)
		}
		backoff := newBackoff(retries)
		for tries := 0; ; tries++ {
			err := invoke(ctx, method, req, resp, cc, opts...)
			if err == nil || tries >= retries {
				return err
			}
			p := ProblemOf(err)
			if !mayRetry(p, method, req) || !sleep(ctx, clk, max(p.RetryAfter, backoff.Step())) {
				return err
			}
		}
	}
}

// withRequestID returns the request with a request id; itself when it has one, or no field for one.
func withRequestID(req proto.Message) proto.Message {
	fd := req.ProtoReflect().Descriptor().Fields().ByName("request_id")
	if fd == nil || fd.Kind() != protoreflect.StringKind || req.ProtoReflect().Has(fd) {
		return req
	}
	req = proto.CloneOf(req)
	req.ProtoReflect().Set(fd, protoreflect.ValueOfString(uuid.NewString()))
	return req
}

// mayRetry reports whether a failed call may be repeated.
func mayRetry(p *Problem, method string, req any) bool {
	switch p.Code {
	case codes.ResourceExhausted:
		return p.RetryAfter > 0 // refused before anything was done; a quota gives no hint
	case codes.Unavailable:
		return isRepeatable(method, req)
	}
	return false
}

// isRepeatable reports whether a call whose answer was lost may be repeated.
func isRepeatable(method string, req any) bool {
	verb := method[strings.LastIndexByte(method, '/')+1:]
	for _, prefix := range repeatable {
		if strings.HasPrefix(verb, prefix) {
			return true
		}
	}
	m, ok := req.(proto.Message)
	if !ok {
		return false
	}
	if create, ok := m.(*raygatev2.CreateSubmissionRequest); ok {
		return create.GetSubmission().GetSubmissionId() != "" // Ray takes an id once
	}
	// Requests with an id are idempotent. A deletion by name alone is not: it could delete an object created later.
	for _, id := range []protoreflect.Name{"request_id", "uid"} {
		if fd := m.ProtoReflect().Descriptor().Fields().ByName(id); fd != nil && m.ProtoReflect().Has(fd) {
			return true
		}
	}
	return false
}

// sleep reports whether the time passed before ctx ended. It does not begin when it would end too late.
func sleep(ctx context.Context, clk clock.Clock, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && deadline.Sub(clk.Now()) < d {
		return false
	}
	timer := clk.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}
