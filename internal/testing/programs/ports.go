package programs

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// Ports are below the ranges that systems use for outgoing connections and for listeners on any port.
const firstPort, lastPort = 20000, 32000

// reservations has the lock files of the ports of this process; the system releases the locks when the process ends.
var reservations struct {
	sync.Mutex
	files []*os.File
}

// FreePorts returns n different free ports of the loopback interface. They stay reserved until this process ends: no other process that
// calls FreePorts gets them.
func FreePorts(n int) ([]int, error) {
	dir := filepath.Join(os.TempDir(), "raygate-test-ports")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("reserving ports: %w", err)
	}
	reservations.Lock()
	defer reservations.Unlock()
	var ports []int
	for _, i := range rand.Perm(lastPort - firstPort) {
		if len(ports) == n {
			break
		}
		file, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(firstPort+i)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("reserving ports: %w", err)
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !free(firstPort+i) {
			_ = file.Close()
			continue
		}
		reservations.files = append(reservations.files, file)
		ports = append(ports, firstPort+i)
	}
	if len(ports) < n {
		return nil, fmt.Errorf("reserving ports: only %d of %d are free", len(ports), n)
	}
	return ports, nil
}

func free(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
