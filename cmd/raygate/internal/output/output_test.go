package output

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func noon() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

// read returns the objects in testdata/objects.yaml. Their times are before the ages that tables show.
func read(t *testing.T) []Item {
	t.Helper()
	data, err := os.ReadFile("testdata/objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var items []Item
	for text := range strings.SplitSeq(string(data), "\n---\n") {
		doc, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var tree map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(doc, &tree); err != nil {
			t.Fatal(err)
		}
		k, ok := kind.OfObject(tree["kind"].(string))
		if !ok {
			t.Fatalf("kind %v", tree["kind"])
		}
		m := k.New()
		if err := convert.Fill(m, tree); err != nil {
			t.Fatal(err)
		}
		items = append(items, Item{k, m})
	}
	return items
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestGolden(t *testing.T) {
	items := read(t)
	tests := map[string]Flags{
		"all.table.txt": {Form: Table}, "all.wide.txt": {Form: Wide, WithNamespace: true}, "all.bare.txt": {Form: Table, NoHeaders: true},
		"all.json": {Form: JSON}, "all.yaml": {Form: YAML}, "all.names.txt": {Form: Name},
	}
	for name, flags := range tests {
		var b bytes.Buffer
		flags.now = noon
		if err := flags.Objects(&b, items, false); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
	}
	var one bytes.Buffer
	if err := (&Flags{Form: YAML}).Objects(&one, items[:1], true); err != nil || !strings.HasPrefix(one.String(), "apiVersion: ray.io/v1\nkind: RayCluster\n") {
		t.Errorf("one object: %v\n%s", err, one.String())
	}
}

func TestWatchGolden(t *testing.T) {
	item := read(t)[0]
	for name, flags := range map[string]Flags{"watch.table.txt": {Form: Table}, "watch.json": {Form: JSON}, "watch.yaml": {Form: YAML}, "watch.names.txt": {Form: Name}} {
		var b bytes.Buffer
		flags.now = noon
		printer := flags.Events(&b, item.Kind)
		for _, kind := range []string{raygate.Added, raygate.Synced, raygate.Modified, raygate.Heartbeat, raygate.Deleted} {
			event := raygate.Event[proto.Message]{Type: kind}
			if kind != raygate.Synced && kind != raygate.Heartbeat {
				event.Object = item.Message
			}
			if err := printer.Print(event); err != nil {
				t.Fatal(err)
			}
		}
		golden(t, name, b.String())
	}
}

func failure(t *testing.T, code codes.Code, message, reason string, violations ...*errdetails.BadRequest_FieldViolation) error {
	t.Helper()
	st, err := status.New(code, message).WithDetails(
		&errdetails.ErrorInfo{Domain: "raygate.io", Reason: reason}, &errdetails.BadRequest{FieldViolations: violations}, &errdetails.RequestInfo{RequestId: "r-1"},
		&errdetails.RetryInfo{RetryDelay: durationpb.New(1500 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	return st.Err()
}

func TestProblems(t *testing.T) {
	var b bytes.Buffer
	one := &errdetails.BadRequest_FieldViolation{Field: "spec.a", Description: "is wrong\x1b[31m", Reason: "RC-001"}
	two := &errdetails.BadRequest_FieldViolation{Description: "all of it is wrong", Reason: "INVALID_ARGUMENT"}
	for _, err := range []error{
		failure(t, codes.InvalidArgument, "spec.a: is wrong", "INVALID_SPEC", one),
		failure(t, codes.InvalidArgument, "2 problems: cut short...", "INVALID_SPEC", one, two),
		failure(t, codes.NotFound, "rayclusters.ray.io \"a\" not found", "NOT_FOUND"),
		failure(t, codes.Internal, "internal error; quote request id r-1 when you report it", "INTERNAL"),
		failure(t, codes.ResourceExhausted, "exceeded quota", "QUOTA_EXCEEDED"),
		status.Error(codes.Unavailable, "connection refused"),
		status.Error(codes.DeadlineExceeded, "context deadline exceeded"),
		failure(t, codes.DeadlineExceeded, "a is not ready after 1s", "WAIT_TIMEOUT"),
		os.ErrNotExist,
	} {
		Problem(&b, "raycluster/a", err, "")
	}
	Problem(&b, "raycluster/a", failure(t, codes.Unauthenticated, "no token", "UNAUTHENTICATED"), "because of this")
	golden(t, "problems.txt", b.String())
}

func TestDiagnosis(t *testing.T) {
	var b bytes.Buffer
	pod := &raygatev2.ObjectReference{Kind: "Pod", Name: "demo-head"}
	findings := []*raygatev2.Finding{
		{Severity: "ERROR", Reason: "CrashLoop", Message: "exit code 1\nTraceback\x1b]0;x\x07\n  boom\n", Object: pod, Remedy: "mend it"},
		{Severity: "INFO", Reason: "Suspended", Message: "as it is meant to be"},
	}
	Diagnosis(&b, "raycluster/a", &raygate.Diagnosis{Findings: findings})
	Diagnosis(&b, "raycluster/b", &raygate.Diagnosis{Ready: true, Findings: findings[1:]})
	Diagnosis(&b, "raycluster/c", &raygate.Diagnosis{Ready: true})
	Diagnosis(&b, "raycluster/d", &raygate.Diagnosis{})
	golden(t, "diagnosis.txt", b.String())
}

func TestHasUnknown(t *testing.T) {
	job := &raygatev2.RayJob{Spec: &raygatev2.RayJobSpec{RayClusterSpec: &raygatev2.RayClusterSpec{WorkerGroupSpecs: []*raygatev2.WorkerGroupSpec{{GroupName: new("a")}}}}}
	if HasUnknown(job) {
		t.Error("nothing is unknown")
	}
	job.Spec.RayClusterSpec.WorkerGroupSpecs[0].ProtoReflect().SetUnknown([]byte{0xf8, 0xff, 0x01, 0x01})
	if !HasUnknown(job) {
		t.Error("a field of the future is not seen")
	}
}

func TestJSONPath(t *testing.T) {
	f := Flags{Form: "jsonpath={.items[*].metadata.name}{.missing}"}
	if err := f.Check(Forms...); err != nil || !f.Full() {
		t.Fatal(err)
	}
	var out, watched bytes.Buffer
	items := read(t)[:2]
	if err := f.Objects(&out, items, false); err != nil {
		t.Fatal(err)
	}
	f.Form = "jsonpath={.kind}"
	if err := f.Events(&watched, items[0].Kind).Print(raygate.Event[proto.Message]{Type: raygate.Added, Object: items[0].Message}); err != nil {
		t.Fatal(err)
	}
	first, second := items[0].unstructured(), items[1].unstructured()
	if want := first.GetName() + " " + second.GetName(); out.String() != want || watched.String() != first.GetKind()+"\n" {
		t.Errorf("want %q, got %q, and %q of a watch", want, out.String(), watched.String())
	}
	for _, form := range []string{"jsonpath={", "jsonpath", "go-template={{.}}"} {
		if err := (&Flags{Form: form}).Check(Forms...); err == nil {
			t.Errorf("%s is accepted", form)
		}
	}
	if err := (&Flags{Form: "jsonpath={.a}"}).Check(Table, JSON); err == nil {
		t.Error("a command without templates accepts one")
	}
}
