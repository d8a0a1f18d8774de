package localproc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
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
		// Processes of other users are unreadable and do not belong to this supervisor.
		environ, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && hasAll(environ, marks) {
			out = append(out, pid)
		}
	}
	return out
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
