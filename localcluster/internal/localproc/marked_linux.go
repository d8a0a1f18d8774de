package localproc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// marked returns the processes whose environment has all these entries. Zombies have no environment and are left out.
func marked(marks ...string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if hasAll(environment(filepath.Join("/proc", e.Name())), marks) {
			out = append(out, pid)
		}
	}
	return out
}

// startTime is how long a process may take to start a program.
const startTime = time.Second

// environment returns the environment of the process with this folder of /proc. A process that starts a program (execve) has none for a moment, which is
// waited for. Processes of other users are unreadable and do not belong to this supervisor.
func environment(dir string) []byte {
	for begin := time.Now(); time.Since(begin) < startTime; time.Sleep(time.Millisecond) {
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || len(environ) > 0 || !starting(dir) {
			return environ
		}
	}
	return nil
}

// starting reports whether a process without environment may have one soon. See proc_pid_stat(5) for the fields; Linux sets that of the code last.
func starting(dir string) bool {
	const codeStart, envStart, envEnd, first = 26, 50, 51, 3 // numbers of fields; the name before the first may contain spaces
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	switch {
	case len(fields) <= envEnd-first:
		return false
	case fields[envStart-first] != fields[envEnd-first]:
		return true // it has got one since
	case fields[codeStart-first] != "0":
		return false
	}
	_, err = os.Readlink(filepath.Join(dir, "exe"))
	return err == nil // neither a zombie nor a thread of the kernel
}

func hasAll(environ []byte, marks []string) bool {
	environ = append(append([]byte{0}, environ...), 0)
	for _, m := range marks {
		if !bytes.Contains(environ, []byte("\x00"+m+"\x00")) {
			return false
		}
	}
	return true
}
