package verb

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

func TestUsageOutput(t *testing.T) {
	got := &raygatev2.GetUsageResponse{Namespace: "team-a", Month: "2026-11", Items: []*raygatev2.Usage{
		{Owner: "jane, ops", Clusters: 2, CpuSeconds: 5400, GpuSeconds: 0.25, MemoryGibSeconds: 36000},
		{Queue: "q", Owner: "=HYPERLINK(\"x\")\n\x1b[31m", Clusters: 1, TpuSeconds: 3600},
	}}
	for name, tc := range map[string]struct {
		print func(io.Writer, *raygatev2.GetUsageResponse) error
		want  string
	}{
		"table": {usageTable, `
QUEUE    OWNER                  CLUSTERS   CPU HOURS   GPU HOURS   TPU HOURS   MEMORY GIB HOURS
<none>   jane, ops              2          1.50        0.00        0.00        10.00
q        =HYPERLINK("x") [31m   1          0.00        0.00        1.00        0.00
`},
		"csv": {usageCSV, `
namespace,month,queue,owner,clusters,cpu_seconds,gpu_seconds,tpu_seconds,memory_gib_seconds
team-a,2026-11,,"jane, ops",2,5400,0.25,0,36000
team-a,2026-11,q,"'=HYPERLINK(""x"")
[31m",1,0,0,3600,0
`},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := tc.print(&out, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), out.String()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}
