package main

import (
	"testing"
	"testing/fstest"

	logsapi "k8s.io/component-base/logs/api/v1"
)

func TestContainerMemory(t *testing.T) {
	file := func(name, text string) fstest.MapFS { return fstest.MapFS{name: {Data: []byte(text)}} }
	for name, tc := range map[string]struct {
		root fstest.MapFS
		want int64
	}{
		"version 2":                  {file("sys/fs/cgroup/memory.max", "1073741824\n"), 1 << 30},
		"version 2, no limit":        {file("sys/fs/cgroup/memory.max", "max\n"), 0},
		"version 1":                  {file("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n"), 512 << 20},
		"version 1, no limit":        {file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"), 0},
		"something else":             {file("sys/fs/cgroup/memory.max", "many"), 0},
		"no container, or no Linux":  {fstest.MapFS{}, 0},
		"a controller without limit": {file("sys/fs/cgroup/cgroup.controllers", "memory"), 0},
	} {
		if got := containerMemory(tc.root); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}

// The budgets besides the objects fit into half of the memory limit.
func TestMemoryIsDivided(t *testing.T) {
	for _, limit := range []int64{0, smallest, 512 << 20, 1 << 30, 64 << 30} {
		m := memoryOf(limit)
		if sum := m.callers + m.views + 2*m.changes; limit > 0 && sum > limit/2 {
			t.Errorf("with %d MiB, %d MiB may be held", limit>>20, sum>>20)
		}
		if m.caller*4 > m.callers {
			t.Errorf("with %d MiB one caller may hold %d MiB of %d", limit>>20, m.caller>>20, m.callers>>20)
		}
	}
	o := NewOptions()
	for text, good := range map[string]bool{"512Mi": true, "1Gi": true, "64Mi": false, "lots": false, "-1": false} {
		if o.MemoryLimit = text; (o.readMemory() == nil) != good {
			t.Errorf("--memory-limit=%s is taken: %v", text, !good)
		}
	}
	o.MemoryLimit = "512Mi"
	if err := o.readMemory(); err != nil || o.limits().Bytes != 128<<20 {
		t.Errorf("callers have %d bytes, %v", o.limits().Bytes, err)
	}
}

// client-go logs what it sends and gets from level 7 on, and so tokens and Secrets.
func TestVerbosityThatLogsTokens(t *testing.T) {
	for name, set := range map[string]func(*logsapi.LoggingConfiguration){
		"--v": func(c *logsapi.LoggingConfiguration) { c.Verbosity = maxVerbosity + 1 },
		"--vmodule": func(c *logsapi.LoggingConfiguration) {
			c.VModule = logsapi.VModuleConfiguration{{FilePattern: "request", Verbosity: 8}}
		},
	} {
		o := NewOptions()
		if err := o.Validate(); err != nil {
			t.Fatal(err)
		}
		if set(o.Logging); o.Validate() == nil {
			t.Errorf("%s may log tokens", name)
		}
	}
}
