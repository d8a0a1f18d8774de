package verb

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/utils/clock"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/progress"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// busyHead is a gateway whose dashboard does not answer the first calls for a log.
type busyHead struct {
	raygatev2.UnimplementedJobServiceServer
	busy, asked int
	ended       bool // the job
	cut         bool // the log breaks off after its first part
}

func (b *busyHead) GetJobLogs(_ *raygatev2.GetJobLogsRequest, s grpc.ServerStreamingServer[raygatev2.GetJobLogsResponse]) error {
	if b.asked++; b.asked > b.busy {
		return s.Send(&raygatev2.GetJobLogsResponse{Data: []byte("hello\n"), NextOffset: 6})
	}
	if b.asked == 1 && b.cut {
		if err := s.Send(&raygatev2.GetJobLogsResponse{Data: []byte("part\n"), NextOffset: 5}); err != nil {
			return err
		}
	}
	return problem(codes.Unavailable, reasonDashboard)
}

func (b *busyHead) WaitJob(context.Context, *raygatev2.WaitJobRequest) (*raygatev2.WaitJobResponse, error) {
	if b.ended {
		return nil, problem(codes.FailedPrecondition, reasonNever)
	}
	return &raygatev2.WaitJobResponse{}, nil
}

func problem(code codes.Code, reason string) error {
	st, err := status.New(code, "no answer in time").WithDetails(&errdetails.ErrorInfo{Reason: reason, Domain: "raygate.io"})
	if err != nil {
		panic(err)
	}
	return st.Err()
}

// hurried is a clock whose timers end at once.
type hurried struct{ clock.RealClock }

func (h hurried) NewTimer(time.Duration) clock.Timer { return h.RealClock.NewTimer(0) }

// TestFollowedLogOfBusyHead: a log that is followed is waited for while the job runs, and no part of it is printed twice.
func TestFollowedLogOfBusyHead(t *testing.T) {
	const never = 1000
	for name, tc := range map[string]struct {
		gateway busyHead
		follow  bool
		want    string
		fails   bool
	}{
		"one that runs":              {busyHead{busy: 20}, true, "hello\n", false},
		"one that has ended":         {busyHead{busy: never, ended: true}, true, "", true},
		"a log that is not followed": {busyHead{busy: never}, false, "", true},
		"a log that breaks off":      {busyHead{busy: never, cut: true}, true, "part\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := grpc.NewServer()
			raygatev2.RegisterJobServiceServer(server, &tc.gateway)
			go func() { _ = server.Serve(l) }()
			defer server.Stop()
			client, err := raygate.Dial(raygate.Config{Address: l.Addr().String(), Clock: hurried{}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Close() }()
			var out, errs bytes.Buffer
			s := &session{client: client, out: &out, err: &errs, progress: progress.New(&errs), namespace: "team"}
			job, err := jobTarget(s, "train")
			if err != nil {
				t.Fatal(err)
			}
			err = s.jobLog(t.Context(), job, raygate.LogOptions{Follow: tc.follow})
			if out.String() != tc.want || (err != nil) != tc.fails {
				t.Errorf("printed %q, want %q; %v\n%s", out.String(), tc.want, err, errs.String())
			}
		})
	}
}
