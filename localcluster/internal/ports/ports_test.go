package ports

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIsFree(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "0.0.0.0"} {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		if IsFree(port) {
			t.Errorf("port %d is free although %s listens on it", port, l.Addr())
		}
		_ = l.Close()
		if !IsFree(port) {
			t.Errorf("port %d is not free after its listener was closed", port)
		}
	}
}

func TestAssign(t *testing.T) {
	usual := Table{"a": 100, "b": 200}
	tests := map[string]struct {
		saved     Table
		taken     map[int]bool
		want      Table
		wantMoved []string
	}{
		"usual ones when nothing is saved": {want: Table{"a": 100, "b": 200}},
		"saved ones before usual ones":     {saved: Table{"a": 101}, want: Table{"a": 101, "b": 200}},
		"usual one when the saved is taken": {
			saved: Table{"a": 101}, taken: map[int]bool{101: true}, want: Table{"a": 100, "b": 200},
		},
		"saved one of another listener is not given twice": {
			saved: Table{"a": 200}, want: Table{"a": 200}, wantMoved: []string{"b"},
		},
		"another one when the usual is taken": {
			taken: map[int]bool{100: true}, want: Table{"b": 200}, wantMoved: []string{"a"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := &Chooser{Free: func(p int) bool { return !tc.taken[p] }}
			got, moved, err := Assign(c, usual, tc.saved)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, m := range moved {
				if got[m.Name] != m.Port || m.Port < firstFree || m.Port >= lastFree || m.Usual != usual[m.Name] {
					t.Errorf("moved %+v does not fit table %v", m, got)
				}
				names = append(names, m.Name)
				delete(got, m.Name)
			}
			if diff := cmp.Diff(tc.wantMoved, names); diff != "" {
				t.Errorf("moved (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChooseGivesUp(t *testing.T) {
	c := &Chooser{Free: func(int) bool { return false }}
	if _, _, err := c.Choose(1); !errors.Is(err, ErrNoFreePort) {
		t.Errorf("want ErrNoFreePort, got %v", err)
	}
}

func TestTableSurvives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ports.json")
	if got := Load(path); len(got) != 0 {
		t.Errorf("want an empty table without a file, got %v", got)
	}
	want := Table{"a": 1}
	if err := want.Save(path); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, Load(path)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	for _, text := range []string{"", "null", "{\"a\"", "[]"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Load(path); got == nil || len(got) != 0 {
			t.Errorf("want an empty table from %q, got %v", text, got)
		}
	}
}
