package raygate

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// fakeDashboard answers for the jobs of a cluster.
type fakeDashboard struct {
	raygatev2.UnimplementedSubmissionServiceServer
	fake *fake

	created []*raygatev2.CreateSubmissionRequest
	logs    []*raygatev2.GetSubmissionLogsRequest
	parts   [][]*raygatev2.GetSubmissionLogsResponse // of one stream each, followed by a failure of the fake
}

func (d *fakeDashboard) CreateSubmission(ctx context.Context, req *raygatev2.CreateSubmissionRequest) (*raygatev2.CreateSubmissionResponse, error) {
	d.created = append(d.created, req)
	return &raygatev2.CreateSubmissionResponse{Submission: req.GetSubmission()}, d.fake.next(ctx)
}

func (d *fakeDashboard) GetSubmission(_ context.Context, req *raygatev2.GetSubmissionRequest) (*raygatev2.GetSubmissionResponse, error) {
	return &raygatev2.GetSubmissionResponse{Submission: &raygatev2.Submission{SubmissionId: req.GetSubmissionId(), Status: "RUNNING"}}, nil
}

func (d *fakeDashboard) ListSubmissions(_ context.Context, req *raygatev2.ListSubmissionsRequest) (*raygatev2.ListSubmissionsResponse, error) {
	if req.GetPageToken() == "" {
		return &raygatev2.ListSubmissionsResponse{Submissions: []*raygatev2.Submission{{SubmissionId: "a"}}, NextPageToken: "t"}, nil
	}
	return &raygatev2.ListSubmissionsResponse{Submissions: []*raygatev2.Submission{{SubmissionId: "b"}}}, nil
}

func (d *fakeDashboard) GetSubmissionLogs(req *raygatev2.GetSubmissionLogsRequest, s grpc.ServerStreamingServer[raygatev2.GetSubmissionLogsResponse]) error {
	d.logs = append(d.logs, req)
	parts := d.parts[0]
	d.parts = d.parts[1:]
	for _, part := range parts {
		if err := s.Send(part); err != nil {
			return err
		}
	}
	return d.fake.next(s.Context())
}

func (d *fakeDashboard) start(t *testing.T) *Submissions {
	d.fake.also = func(s *grpc.Server) { raygatev2.RegisterSubmissionServiceServer(s, d) }
	return d.fake.start(t, nil).Submissions("team", "demo")
}

func TestJobIsSubmittedOnce(t *testing.T) {
	d := &fakeDashboard{fake: &fake{failures: []error{failure(codes.Unavailable), failure(codes.AlreadyExists)}}}
	jobs := d.start(t)
	got, err := jobs.Create(t.Context(), &raygatev2.Submission{Entrypoint: "true"})
	if err != nil || got.GetStatus() != "RUNNING" {
		t.Errorf("%v, %v", got, err)
	}
	if len(d.created) != 2 || d.created[0].GetSubmission().GetSubmissionId() == "" || d.created[0].GetSubmission().GetSubmissionId() != got.GetSubmissionId() {
		t.Errorf("submitted %v", d.created)
	}
	d.fake.failures = []error{failure(codes.AlreadyExists)}
	if _, err := jobs.Create(t.Context(), &raygatev2.Submission{SubmissionId: "mine"}); ProblemOf(err).Code != codes.AlreadyExists {
		t.Errorf("an id that is taken: %v", err)
	}
	var ids []string
	for job, err := range jobs.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, job.GetSubmissionId())
	}
	if diff := cmp.Diff([]string{"a", "b"}, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

func TestLogGoesOnBehindTheLastPart(t *testing.T) {
	part := func(text string, next int64) *raygatev2.GetSubmissionLogsResponse {
		return &raygatev2.GetSubmissionLogsResponse{Data: []byte(text), NextOffset: next}
	}
	type asked struct {
		Tail   *int32
		Offset int64
	}
	tests := map[string]struct {
		tail     *int32
		parts    [][]*raygatev2.GetSubmissionLogsResponse
		failures []error
		want     string
		asked    []asked
		fails    bool
	}{
		"whole": {
			parts: [][]*raygatev2.GetSubmissionLogsResponse{{part("ab", 2), part("c", 3)}, {}, {part("d", 4)}}, failures: []error{failure(codes.Unavailable), failure(codes.Unavailable)},
			want: "abcd", asked: []asked{{}, {nil, 3}, {nil, 3}},
		},
		"the end of one": {
			tail:  new(int32(2)),
			parts: [][]*raygatev2.GetSubmissionLogsResponse{{part("ab", 12)}, {part("c", 13)}}, failures: []error{failure(codes.Unavailable)},
			want: "abc", asked: []asked{{new(int32(2)), 0}, {nil, 12}},
		},
		"the end of one whose place is not known": {
			tail:  new(int32(2)),
			parts: [][]*raygatev2.GetSubmissionLogsResponse{{part("ab", 0)}}, failures: []error{failure(codes.Unavailable)},
			want: "ab", asked: []asked{{new(int32(2)), 0}}, fails: true,
		},
		"one that there is not": {
			parts: [][]*raygatev2.GetSubmissionLogsResponse{{}}, failures: []error{failure(codes.NotFound)}, asked: []asked{{}}, fails: true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := &fakeDashboard{fake: &fake{failures: tc.failures}, parts: tc.parts}
			var got []byte
			var last error
			for data, err := range d.start(t).Logs(t.Context(), "id", LogOptions{Follow: true, Tail: tc.tail}) {
				got, last = append(got, data...), err
			}
			if string(got) != tc.want || (last != nil) != tc.fails {
				t.Errorf("log %q, %v; want %q", got, last, tc.want)
			}
			var offsets []asked
			for _, req := range d.logs {
				offsets = append(offsets, asked{req.TailLines, req.GetOffset()})
			}
			if diff := cmp.Diff(tc.asked, offsets); diff != "" {
				t.Errorf("asked for (-want +got):\n%s", diff)
			}
		})
	}
}
