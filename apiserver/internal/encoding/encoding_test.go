package encoding

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// All views together stay within the limit, and entries in frequent use are kept.
func TestCacheIsBoundedInBytes(t *testing.T) {
	const limit = 10 * (100 + entryOverhead)
	c := NewCache(limit)
	var hot Views
	encoded := 0
	for n := range 500 {
		if _, err := c.Get(&hot, ProtoFull, func() ([]byte, error) { encoded++; return make([]byte, 100), nil }); err != nil {
			t.Fatal(err)
		}
		var cold Views
		data, err := c.Get(&cold, JSONBasic, func() ([]byte, error) { return fmt.Appendf(make([]byte, 0, 100), "%0100d", n), nil })
		if err != nil || len(data) != 100 {
			t.Fatal(len(data), err)
		}
		if c.Size() > limit {
			t.Fatalf("after %d objects the cache holds %d bytes", n, c.Size())
		}
	}
	if encoded != 1 {
		t.Errorf("what is asked for all the time was encoded %d times", encoded)
	}
	c.Forget(&hot)
	if _, err := c.Get(&hot, ProtoFull, func() ([]byte, error) { encoded++; return nil, nil }); err != nil || encoded != 2 {
		t.Errorf("forgotten views were kept: %d, %v", encoded, err)
	}
	if _, err := c.Get(&hot, ProtoBasic, func() ([]byte, error) { return make([]byte, 2*limit), nil }); err != nil || c.Size() > limit {
		t.Errorf("what is larger than the cache is kept: %d bytes, %v", c.Size(), err)
	}
}

func TestCacheByManyAtOnce(t *testing.T) {
	const limit = 50 * (100 + entryOverhead)
	c := NewCache(limit)
	all := make([]Views, 100)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for n := range 2000 {
				i := (n*7 + g) % len(all)
				want := byte(i)
				data, err := c.Get(&all[i], Form(n%int(forms)), func() ([]byte, error) { return bytes.Repeat([]byte{want}, 100), nil })
				if err != nil || len(data) != 100 || data[0] != want {
					t.Errorf("view %d is %v, %v", i, data[:1], err)
				}
				if n%50 == 0 {
					c.Forget(&all[i])
				}
			}
		})
	}
	wg.Wait()
	held := 0
	for i := range all {
		for f := range all[i].of() {
			if e := all[i].of()[f].Load(); e != nil {
				held += e.size()
			}
		}
	}
	if held != c.Size() || held > limit {
		t.Errorf("views hold %d bytes, the cache counts %d", held, c.Size())
	}
}

// A cached view does not keep its object alive: the JSON of the object is much larger than the short form.
func TestCacheKeepsNoObjects(t *testing.T) {
	type object struct {
		Views Views
		raw   []byte
	}
	c, gone := NewCache(0), make(chan struct{})
	func() {
		o := &object{raw: make([]byte, 1<<20)}
		runtime.AddCleanup(o, func(int) { close(gone) }, 0)
		if _, err := c.Get(&o.Views, JSONBasic, func() ([]byte, error) { return []byte("{}"), nil }); err != nil || len(o.raw) == 0 {
			t.Fatal(err)
		}
	}()
	for range 100 {
		runtime.GC()
		select {
		case <-gone:
			if c.Size() == 0 {
				t.Error("nothing is kept")
			}
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the object is kept")
}

func TestJSON(t *testing.T) {
	page := &raygatev2.ListClustersResponse{Kind: "RayClusterList", ApiVersion: "<&>", Metadata: &raygatev2.ListMeta{ResourceVersion: "7"}, TotalSize: 2}
	const head = `{"apiVersion":"<&>","kind":"RayClusterList","metadata":{"resourceVersion":"7"},"totalSize":2`
	event := &raygatev2.WatchClustersResponse{Type: "ADDED", ResumeToken: "t"}
	for name, tc := range map[string]struct {
		message proto.Message
		field   protoreflect.Name
		objects []string
		want    string
	}{
		"empty":            {&raygatev2.DeleteClusterResponse{}, "", nil, "{}"},
		"ordinary":         {page, "", nil, head + "}"},
		"64-bit integers":  {&raygatev2.ObjectMeta{Generation: 1 << 60, Labels: map[string]string{"b": "\x01", "a": ""}}, "", nil, `{"generation":1152921504606846976,"labels":{"a":"","b":"\u0001"}}`},
		"page of none":     {page, "items", nil, head + `,"items":[]}`},
		"page of two":      {page, "items", []string{`{"a":1}`, `{"b":2}`}, head + `,"items":[{"a":1},{"b":2}]}`},
		"message of watch": {event, "cluster", []string{`{"a":1}`}, `{"type":"ADDED","resumeToken":"t","cluster":{"a":1}}`},
	} {
		got, err := JSON(tc.message)
		if tc.field != "" {
			objects := make([][]byte, len(tc.objects))
			for n, text := range tc.objects {
				objects[n] = []byte(text)
			}
			got, err = JSONWith(tc.message, tc.message.ProtoReflect().Descriptor().Fields().ByName(tc.field), objects...)
		}
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, tc.want)
		}
	}
}
