package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"
)

// Range of the ports that replace taken ones. It is below the ephemeral ports of Linux and macOS, so that a restarted part does
// not find its port in use by one of its clients.
const (
	firstFree = 20000
	lastFree  = 32000
)

// ErrNoFreePort reports that no port in the searched range could be bound.
var ErrNoFreePort = errors.New("no free port")

// IsFree reports whether nothing listens on the port of the loopback address.
func IsFree(port int) bool {
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return false
	}
	_ = l.Close()
	// Some systems allow binding a specific address next to a listener on all addresses. Such a listener accepts connections.
	c, err := net.DialTimeout("tcp", addr, 200*time.Millisecond)
	if err == nil {
		_ = c.Close()
		return false
	}
	return true
}

// Chooser chooses each port at most once. The zero value is ready for use.
type Chooser struct {
	given map[int]bool

	// Free reports whether a port can be bound; nil means IsFree.
	Free func(port int) bool
}

// Choose returns the first free port among the preferred ones, or any free port. The boolean reports whether it is a preferred
// one. Preferred ports of 0 are skipped.
func (c *Chooser) Choose(preferred ...int) (int, bool, error) {
	for _, p := range preferred {
		if p != 0 && c.take(p) {
			return p, true, nil
		}
	}
	for range 1000 {
		if p := firstFree + rand.IntN(lastFree-firstFree); c.take(p) {
			return p, false, nil
		}
	}
	return 0, false, fmt.Errorf("choosing between %d and %d: %w", firstFree, lastFree, ErrNoFreePort)
}

func (c *Chooser) take(port int) bool {
	free := c.Free
	if free == nil {
		free = IsFree
	}
	if c.given[port] || !free(port) {
		return false
	}
	if c.given == nil {
		c.given = map[int]bool{}
	}
	c.given[port] = true
	return true
}
