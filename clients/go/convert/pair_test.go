package convert_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"k8s.io/apimachinery/pkg/api/equality"
	kjson "sigs.k8s.io/json"

	"github.com/raygate/raygate/clients/go/convert"
)

// TestPairsLoseNothing demands of every kind that an object survives the way to a message and back, and that the strict and the lenient way are one for it.
func TestPairsLoseNothing(t *testing.T) {
	checkPair(t, 0, convert.RayCluster)
	checkPair(t, 1, convert.RayJob)
	checkPair(t, 2, convert.RayService)
	checkPair(t, 3, convert.RayCronJob)
}

func checkPair[T convert.Object, M proto.Message](t *testing.T, which int, pair convert.Pair[T, M]) {
	kind := kinds[which]
	t.Run(kind.name, func(t *testing.T) {
		for seed := range int64(12) {
			nilChance, most := 0.5, 2
			if seed < 2 {
				nilChance, most = 0, 1 // every field
			}
			object := random(kind, seed, nilChance, most).(T)
			want := fromRay(t, kind, object)
			got, err := pair.Message(object)
			if err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(want, got) { // asked first because Diff takes long to find none
				t.Fatalf("message (-lenient +strict):\n%s", cmp.Diff(want, proto.Message(got), protocmp.Transform()))
			}
			back, err := pair.Object(got)
			if err != nil {
				t.Fatal(err)
			}
			if !equality.Semantic.DeepEqual(object, back) {
				t.Fatalf("resource -> message -> resource (-want +got):\n%s", cmp.Diff(object, back))
			}
			checkTree(t, object, got)
		}
	})
}

// checkTree demands that the JSON of a message, as a client prints it, is that of the resource.
func checkTree(t *testing.T, object, m any) {
	t.Helper()
	data, err := json.Marshal(convert.Tree(m.(proto.Message)))
	if err != nil {
		t.Fatal(err)
	}
	printed := reflect.New(reflect.TypeOf(object).Elem()).Interface()
	if strict, err := kjson.UnmarshalStrict(data, printed); err != nil || len(strict) > 0 {
		t.Fatalf("Kubernetes refuses the JSON of a client: %v %v", err, strict)
	}
	if !equality.Semantic.DeepEqual(object, printed) {
		t.Fatalf("Kubernetes reads the JSON of a client as another object (-want +got):\n%s", cmp.Diff(object, printed))
	}
}
