package v1

import (
	"bytes"
	"net/http"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

var cluster = (&kuberay.Cluster{}).ProtoReflect().Descriptor()

func TestWarnOfUnknown(t *testing.T) {
	h := http.Header{}
	warnOfUnknown(h, []byte(`{"name":"a","naem":"b","clusterSpec":{"workerGroupSpec":[{"é\n":1}]}}`), cluster)
	want := []string{`299 - "unknown field naem is ignored"`, `299 - "unknown field clusterSpec.workerGroupSpec[0].?? is ignored"`}
	if diff := cmp.Diff(want, h.Values("Warning")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A body may be 3 MiB, of which each byte may open a list: reading it must not take a stack of a hundred times that.
func TestDeepBodiesTakeNoStack(t *testing.T) {
	deep := bytes.Repeat([]byte("["), 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	warnOfUnknown(http.Header{}, deep, cluster)
	runtime.ReadMemStats(&after)
	if grown := int64(after.StackSys) - int64(before.StackSys); grown > 16<<20 {
		t.Errorf("the stack grew by %d MiB", grown>>20)
	}
}
