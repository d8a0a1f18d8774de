package history

import (
	"strings"
	"testing"
	"time"
)

// FuzzKeys holds the keys of objects to three properties: they can be read back, they stay within the folder of their namespace, and
// the index sorts from the newest to the oldest.
func FuzzKeys(f *testing.F) {
	f.Add("RayJob", "team-a", "demo", "1f-2e", int64(1_770_000_000), 2, int64(1_770_000_100), int64(42))
	f.Add("RayCluster", "n", strings.Repeat("long.", 50)+"x", "u", int64(0), 0, int64(0), int64(0))
	f.Add("..", "../x", "a/b", "_", int64(-1), -1, int64(-5), int64(-9))
	f.Fuzz(func(t *testing.T, kind, namespace, name, uid string, created int64, attempt int, started, size int64) {
		k := Key{Kind: kind, Namespace: namespace, Name: name, UID: uid, Created: at(bound(created)), Attempt: attempt, Started: at(bound(started))}
		if k.valid() != nil {
			return
		}
		folder := k.folder()
		if !strings.HasPrefix(folder, objects+namespace+"/"+kind+"/") || strings.Contains(folder, "/.") || strings.Contains(folder, "//") {
			t.Errorf("folder %q", folder)
		}
		if got, ok := parseFolder(folder+recordName, Key{Kind: kind, Namespace: namespace, Name: name}); !ok || got != k {
			t.Errorf("parseFolder = %v, %v, want %v", got, ok, k)
		}
		s := Summary{Key: k, Ended: time.Unix(bound(started)+1, 0)}
		e := s.entry(size)
		if got, ok := parseEntry(e.key()); !ok || got.folder() != folder || got.size != size {
			t.Errorf("parseEntry(%q) = %v, %v", e.key(), got, ok)
		}
		for part := range strings.SplitSeq(e.key(), "/") {
			if len(part) > 255 {
				t.Errorf("%d bytes: %q", len(part), part)
			}
		}
		later := s
		later.Ended = s.Ended.Add(time.Second)
		if later.entry(0).key() >= e.key() {
			t.Errorf("%q is not before %q", later.entry(0).key(), e.key())
		}
	})
}

// bound maps a number to a time that Kubernetes may have.
func bound(unix int64) int64 {
	const most = 8_000_000_000
	return (unix%most + most) % most
}

func FuzzParse(f *testing.F) {
	f.Add("index/team-a/8229999999999_RayJob_1_0000000001-00000000001_00000000001-u_demo")
	f.Add("objects/n/RayJob/demo/00000000001-u/0000000001-00000000001/record.json")
	f.Fuzz(func(t *testing.T, key string) {
		if e, ok := parseEntry(key); ok && e.key() != key {
			t.Errorf("%q became %q", key, e.key())
		}
		parseFolder(key, Key{Kind: "RayJob", Namespace: "n", Name: "demo"})
	})
}
