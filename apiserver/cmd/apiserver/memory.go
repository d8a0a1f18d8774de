package main

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/raygate/raygate/apiserver/internal/encoding"
)

// memoryFiles are the files with the memory limit of a container: those of cgroup version 2 and 1.
var memoryFiles = []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"}

// containerMemory is the limit of the container's memory in bytes, 0 if there is none.
func containerMemory(root fs.FS) int64 {
	for _, file := range memoryFiles {
		text, err := fs.ReadFile(root, file)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil || limit > 1<<50 { // "max", or the value of version 1 for no limit
			return 0
		}
		return limit
	}
	return 0
}

// memory has the budgets of the parts of the process, in bytes.
type memory struct {
	// limit of the process, 0 if there is none.
	limit int64
	// callers is the budget for all callers, caller for one of them.
	callers, caller int64
	// views is for encoded objects, changes for the changes that watches may resume from, of all kinds together, and as much for writes.
	views, changes int64
}

// smallest is the smallest limit with which the gateway works.
const smallest = 128 << 20

// memoryOf divides the memory: a quarter is for callers, and a quarter for the data besides the objects themselves.
func memoryOf(limit int64) memory {
	m := memory{limit, 512 << 20, 64 << 20, encoding.DefaultCacheSize, 4 * 64 << 20}
	if limit > 0 {
		m.callers = min(m.callers, limit/4)
		m.caller = min(m.caller, m.callers/4)
		m.views, m.changes = min(m.views, limit/16), min(m.changes, limit/16)
	}
	return m
}

// readMemory reads the limit: of the flag, else of GOMEMLIMIT, else of the container.
func (o *Options) readMemory() error {
	limit := debug.SetMemoryLimit(-1)
	if o.MemoryLimit != "" {
		q, err := resource.ParseQuantity(o.MemoryLimit)
		if err != nil || q.Value() < smallest {
			return fmt.Errorf("--memory-limit=%s: want at least 128Mi, as in 512Mi", o.MemoryLimit)
		}
		limit = q.Value()
	} else if limit == math.MaxInt64 {
		limit = containerMemory(os.DirFS("/"))
	}
	o.memory = memoryOf(limit)
	return nil
}

// apply sets the memory limit of the garbage collector, with some room for memory that it does not count.
func (m memory) apply() {
	if m.limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(m.limit / 20 * 17)
	}
}
