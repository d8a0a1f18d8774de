package flowcontrol

import (
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/google/go-cmp/cmp"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// A message that is nothing but encoded bytes is sent without a copy; what has fields as well is encoded with them.
func TestCodecSendsEncodedBytesAsTheyAre(t *testing.T) {
	want := &raygatev2.WatchClustersResponse{Type: "MODIFIED", ResumeToken: "w1.7"}
	data, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	ready, mixed := &raygatev2.WatchClustersResponse{}, &raygatev2.WatchClustersResponse{Type: "ADDED"}
	ready.ProtoReflect().SetUnknown(data)
	mixed.ProtoReflect().SetUnknown(data)
	sent, err := rawCodec{}.Marshal(ready)
	if err != nil {
		t.Fatal(err)
	}
	if got := sent[0].ReadOnlyData(); len(sent) != 1 || &got[0] != &data[0] {
		t.Error("the bytes were copied")
	}
	shared := mem.BufferSlice{mem.SliceBuffer(data)}
	for name, m := range map[string]any{"shared": &shared, "ready": ready, "mixed": mixed, "usual": want} {
		sent, err := rawCodec{}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got := &raygatev2.WatchClustersResponse{}
		if err := proto.Unmarshal(sent.Materialize(), got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
