package proc

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func shell(t *testing.T, name, script string) Spec {
	t.Helper()
	return Spec{Name: name, Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), name+".log")}
}

func TestLastLines(t *testing.T) {
	tests := map[string]struct {
		data string
		n    int
		cut  bool
		want []string
	}{
		"empty":                       {n: 3},
		"fewer than wanted":           {data: "a\nb\n", n: 3, want: []string{"a", "b"}},
		"more than wanted":            {data: "a\nb\nc\n", n: 2, want: []string{"b", "c"}},
		"without newline at the end":  {data: "a\nb", n: 1, want: []string{"b"}},
		"first line not complete":     {data: "tail of a\nb\n", n: 5, cut: true, want: []string{"b"}},
		"one line longer than a read": {data: "tail", n: 5, cut: true, want: []string{"tail"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, lastLines([]byte(tc.data), tc.n, tc.cut)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// patience is the limit of every wait for something that happens soon on a machine without other load.
const patience = time.Minute

func TestGroupTellsCrash(t *testing.T) {
	var g Group
	p, err := g.Start(shell(t, "part", "echo going down; exit 7"), 0, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-g.Crashes():
		if got != p {
			t.Errorf("want %s, got %s", p.Name, got.Name)
		}
	case <-time.After(patience):
		t.Fatal("the crash was not told")
	}
	if p.Exit() != "exit status 7" {
		t.Errorf("want exit status 7, got %s", p.Exit())
	}
	if diff := cmp.Diff([]string{"going down"}, p.Tail(20)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestGroupStops(t *testing.T) {
	var g Group
	var told int
	// The sleep is a child of the shell: the group of processes must be reached.
	polite, err := g.Start(shell(t, "polite", "sleep 60; exit 1"), 0, patience)
	if err != nil {
		t.Fatal(err)
	}
	stubborn, err := g.Start(shell(t, "stubborn", "trap '' TERM; echo ready; while :; do sleep 60; done"), 1, 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); len(stubborn.Tail(1)) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the stubborn part does not start")
		}
	}
	g.StopAll(func(string, ...any) { told++ })
	for _, p := range []*Process{polite, stubborn} {
		select {
		case <-p.Done():
		default:
			t.Errorf("%s still runs", p.Name)
		}
	}
	if told != 1 {
		t.Errorf("want one part killed, got %d", told)
	}
	if len(g.Crashes()) != 0 {
		t.Error("stopping was taken for a crash")
	}
}
