package load

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// TestReload: a bad file keeps what was there, a good one applies, without a restart.
func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	f := &File{Path: path, Every: time.Second}
	if f.Open() == nil {
		t.Fatal("opened a file that is not there")
	}
	write("nonsense")
	if f.Open() == nil {
		t.Fatal("opened nonsense")
	}
	first := head + "- {name: a, resources: {count: a.io/x}}\n"
	write(first)
	if err := f.Open(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		f.Clock = clock.RealClock{}
		var mu sync.Mutex
		var results []error
		f.Reloaded = func(err error) {
			mu.Lock()
			defer mu.Unlock()
			results = append(results, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = f.Start(ctx) }()
		step := func(what string, vendors, changes int, good bool) {
			t.Helper()
			time.Sleep(3 * time.Second)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if n := len(f.Live.Program().Vendors()); n != vendors {
				t.Errorf("%s: %d families, want %d", what, n, vendors)
			}
			if len(results) != changes || changes > 0 && (results[changes-1] == nil) != good {
				t.Errorf("%s: results %v", what, results)
			}
		}
		step("the same", 1, 0, true)
		write("nonsense")
		step("nonsense", 1, 1, false)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		step("gone", 1, 2, false)
		write(first + "- {name: b, resources: {count: b.io/x}}\n")
		step("good", 2, 3, true)
	})
}
