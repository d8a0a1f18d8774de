package simnode

import (
	"errors"
	"fmt"
	"sync"
)

// Pod addresses are 10.244.a.b. Real ones must not be loopback or link-local:
// the API server refuses those in EndpointSlices.
const (
	firstAddress = 0<<8 | 1     // 10.244.0.1
	lastAddress  = 255<<8 | 254 // 10.244.255.254
)

var errNoAddress = errors.New("all Pod addresses are in use")

// addresses gives every Pod an address that no other Pod has.
type addresses struct {
	mu    sync.Mutex
	next  int
	owner map[int]string // address -> UID
	of    map[string]int // UID -> address
}

func newAddresses() *addresses {
	return &addresses{next: firstAddress, owner: map[int]string{}, of: map[string]int{}}
}

// reserve notes that the Pod has this address already. Foreign addresses (a Pod
// in the host's network) and those another Pod has are left alone.
func (a *addresses) reserve(uid, ip string) {
	var hi, lo int
	if n, err := fmt.Sscanf(ip, "10.244.%d.%d", &hi, &lo); n != 2 || err != nil {
		return
	}
	addr := hi<<8 | lo
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, taken := a.owner[addr]; taken || addr < firstAddress || addr > lastAddress {
		return
	}
	a.owner[addr], a.of[uid] = uid, addr
}

// assign returns the address of the Pod, a new one the first time. An address is
// reused as late as possible, so that no client reaches another Pod through an
// address he remembers.
func (a *addresses) assign(uid string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if addr, ok := a.of[uid]; ok {
		return format(addr), nil
	}
	for range lastAddress - firstAddress + 1 {
		addr := a.next
		if a.next++; a.next > lastAddress {
			a.next = firstAddress
		}
		if low := addr & 0xff; low == 0 || low == 255 {
			continue // look like a network's own and its broadcast address
		}
		if _, taken := a.owner[addr]; !taken {
			a.owner[addr], a.of[uid] = uid, addr
			return format(addr), nil
		}
	}
	return "", errNoAddress
}

// release forgets the Pod.
func (a *addresses) release(uid string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if addr, ok := a.of[uid]; ok {
		delete(a.owner, addr)
		delete(a.of, uid)
	}
}

func format(addr int) string { return fmt.Sprintf("10.244.%d.%d", addr>>8, addr&0xff) }
