package simnode

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
)

func TestAddressesAreUnique(t *testing.T) {
	a := newAddresses()
	a.reserve("old", "10.244.0.2")
	a.reserve("thief", "10.244.0.2") // second owner: stays without
	a.reserve("host", "10.245.0.1")  // a node's, not ours
	a.reserve("odd", "10.244.999.1")
	seen := map[string]string{}
	for i := range 10_000 {
		uid := fmt.Sprint(i)
		ip, err := a.assign(uid)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[ip]; ok {
			t.Fatalf("%s and %s both have %s", other, uid, ip)
		}
		seen[ip] = uid
		if !netip.MustParsePrefix("10.244.0.0/16").Contains(netip.MustParseAddr(ip)) {
			t.Fatalf("%s is outside 10.244.0.0/16", ip)
		}
		if again, _ := a.assign(uid); again != ip {
			t.Fatalf("want %s again for %s, got %s", ip, uid, again)
		}
	}
	if uid, ok := seen["10.244.0.2"]; ok {
		t.Errorf("%s got the reserved address", uid)
	}
	if got, _ := a.assign("old"); got != "10.244.0.2" {
		t.Errorf("want the reserved address for its Pod, got %s", got)
	}
}

func TestAddressesEnd(t *testing.T) {
	a := newAddresses()
	const all = 256 * 254
	for i := range all {
		if _, err := a.assign(fmt.Sprint(i)); err != nil {
			t.Fatalf("assigning %d: %v", i, err)
		}
	}
	if _, err := a.assign("one more"); !errors.Is(err, errNoAddress) {
		t.Fatalf("want errNoAddress, got %v", err)
	}
	a.release("77")
	a.release("77")
	a.release("unknown")
	if _, err := a.assign("one more"); err != nil {
		t.Errorf("assigning after a release: %v", err)
	}
}
