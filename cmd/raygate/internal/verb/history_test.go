package verb

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/raygate/raygate/cmd/raygate/internal/output"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

func TestHistoryTable(t *testing.T) {
	at := func(minutes int64) *timestamppb.Timestamp { return &timestamppb.Timestamp{Seconds: minutes * 60} }
	records := []*raygatev2.HistoryRecord{
		{Kind: "RayJob", Name: "train", Uid: "u", Attempt: 2, StartTime: at(10), EndTime: at(15), Result: "FAILED", Reason: "AppFailed\x1b[31m", HasLog: true, Cluster: "train-x", JobId: "j", Queue: "q"},
		{Kind: "RayCluster", Name: "demo", Uid: "v", EndTime: at(1), Result: "ready"},
	}
	for form, want := range map[string]string{
		output.Table: `
NAME              ATTEMPT   RESULT   ENDED   DURATION   LOG   REASON
rayjob/train      2         FAILED   45m     5m         yes   AppFailed^[[31m
raycluster/demo             ready    59m                no    
`,
		output.Wide: `
NAME              ATTEMPT   RESULT   ENDED   DURATION   LOG   REASON            UID   CLUSTER   JOB ID   QUEUE
rayjob/train      2         FAILED   45m     5m         yes   AppFailed^[[31m   u     train-x   j        q
raycluster/demo             ready    59m                no                      v                        
`,
	} {
		h := &historyCommand{output: output.Flags{Form: form}}
		var out strings.Builder
		if err := h.table(&out, records, time.Unix(3600, 0)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", form, diff)
		}
	}
}

// pages answers each call with one record, and every other one with none.
type pages struct {
	raygatev2.HistoryServiceClient
	calls, left int
}

func (p *pages) ListHistory(_ context.Context, req *raygatev2.ListHistoryRequest, _ ...grpc.CallOption) (*raygatev2.ListHistoryResponse, error) {
	resp := &raygatev2.ListHistoryResponse{}
	if p.calls++; p.calls%2 == 0 && req.GetPageSize() > 0 {
		p.left--
		resp.Records = []*raygatev2.HistoryRecord{{}}
	}
	if p.left > 0 {
		resp.NextPageToken = "more"
	}
	return resp, nil
}

func TestHistoryPages(t *testing.T) {
	for limit, want := range map[int32]int{0: 5, 3: 3, 9: 5} {
		h := &historyCommand{max: limit}
		if got, err := h.list(t.Context(), &pages{left: 5}, &raygatev2.ListHistoryRequest{}); err != nil || len(got) != want {
			t.Errorf("limit %d: %d records, %v, want %d", limit, len(got), err, want)
		}
	}
}

// deletedJob is the history of a job that is deleted.
type deletedJob struct {
	raygatev2.HistoryServiceClient
	t *testing.T
}

func (d deletedJob) GetHistory(_ context.Context, req *raygatev2.GetHistoryRequest, _ ...grpc.CallOption) (*raygatev2.GetHistoryResponse, error) {
	object, err := structpb.NewStruct(map[string]any{"metadata": map[string]any{"name": req.GetName()}, "spec": map[string]any{"entrypoint": "x", "backoffLimit": 2}})
	if err != nil {
		d.t.Fatal(err)
	}
	return &raygatev2.GetHistoryResponse{Object: object}, nil
}

func TestRerunFromHistory(t *testing.T) {
	job, err := recorded(t.Context(), deletedJob{t: t}, &raygatev2.GetHistoryRequest{Name: "train"})
	if err != nil || job.Name != "train" || job.Spec.Entrypoint != "x" || *job.Spec.BackoffLimit != 2 {
		t.Errorf("%v, %+v", err, job)
	}
}

func TestLogOfNodeFlags(t *testing.T) {
	for _, tc := range []struct {
		refused string
		args    []string
		c       logsCommand
	}{
		{"", []string{"train"}, logsCommand{file: "raylet.out", node: "n", attempt: 1}},
		{"", nil, logsCommand{file: "raylet.out", node: "n", cluster: "demo"}},
		{"--node needs --file", []string{"train"}, logsCommand{node: "n"}},
		{"leave out --follow", []string{"train"}, logsCommand{file: "raylet.out", follow: true}},
		{"and --source", []string{"train"}, logsCommand{file: "raylet.out", source: "submitter"}},
		{"leave out the submission or --cluster", []string{"train"}, logsCommand{file: "raylet.out", cluster: "demo"}},
		{"with --cluster and --file", nil, logsCommand{cluster: "demo"}},
		{"name a job", nil, logsCommand{file: "raylet.out"}},
	} {
		tc.c.tail = -1
		if tc.c.source == "" {
			tc.c.source = "driver"
		}
		if err := tc.c.check(tc.args); (err == nil) != (tc.refused == "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
			t.Errorf("%v %+v: %v, want %q", tc.args, tc.c, err, tc.refused)
		}
	}
}
