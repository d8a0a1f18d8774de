package plan

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/raygate/raygate/pkg/devices"
	"github.com/raygate/raygate/pkg/manifest"
)

// bareLimit is the smallest whole number that means bytes in a family whose memory may be bytes or a number without a unit.
const bareLimit = 1 << 20

const mebibyte = 1 << 20

// amount is the amount of one field that a container requests, in the unit of users; memory in bytes is in MiB. Zero means no request.
type amount struct {
	value int64
	text  string // as it is written; empty if it was computed
}

// parse reads an amount of the field. The problem describes the error and a valid value.
func (v *vendor) parse(f devices.Field, text string) (n int64, problem string) {
	q, err := manifest.ParseQuantity(text)
	switch {
	case err != nil:
		return 0, "is no quantity"
	case q.Sign() < 0:
		return 0, "must not be negative"
	case f == devices.Memory && v.Units.Memory.Form == devices.Bytes:
		return v.parseBytes(q)
	case q.Format == resource.BinarySI:
		return 0, v.withoutSuffix(f, q)
	}
	n, ok := q.AsInt64()
	if !ok || n > devices.MaxAmount {
		return 0, fmt.Sprintf("must be a whole number of at most %d", int64(devices.MaxAmount))
	}
	return n, ""
}

// withoutSuffix describes how to write an amount in units for which the user wrote bytes.
func (v *vendor) withoutSuffix(f devices.Field, q resource.Quantity) string {
	if f != devices.Memory {
		return "must be a whole number without a suffix"
	}
	text := fmt.Sprintf("must be a whole number of units of %d MiB without a suffix", v.toMiB)
	if bytes, ok := q.AsInt64(); ok {
		text += fmt.Sprintf(": for %s write %d", q.String(), ceil(ceil(bytes, mebibyte), v.toMiB))
	}
	return text
}

func (v *vendor) parseBytes(q resource.Quantity) (int64, string) {
	n, ok := q.AsInt64()
	if !ok {
		return 0, "must be a whole number of bytes"
	}
	if bare := v.Units.Memory.BareMiB; bare > 0 && q.Format != resource.BinarySI && n < bareLimit {
		n *= bare
	} else {
		n = ceil(n, mebibyte)
	}
	if n > devices.MaxAmount {
		return 0, fmt.Sprintf("must be at most %d MiB", int64(devices.MaxAmount))
	}
	return n, ""
}

// write is the text of a computed amount.
func (v *vendor) write(f devices.Field, n int64) string {
	if f == devices.Memory && v.Units.Memory.Form == devices.Bytes {
		return strconv.FormatInt(n, 10) + "Mi"
	}
	return strconv.FormatInt(n, 10)
}

// mebibytes is an amount of memory in MiB.
func (v *vendor) mebibytes(n int64) int64 {
	if v.Units.Memory.Form == devices.Bytes {
		return n
	}
	return mul(n, v.toMiB)
}

// Hard is the amount that a ResourceQuota allows of the resource: a number of devices or cores, or MiB. A fraction of a unit is rounded
// down; exact is false then. ok is false for resources that do not count.
func (p *Program) Hard(name string, q resource.Quantity) (n int64, exact, ok bool) {
	at, ok := p.owned[name]
	if !ok {
		return 0, false, false
	}
	v := &p.vendors[at.vendor]
	if !v.counts(at.field) {
		return 0, false, false
	}
	n, exact = floor(q)
	if at.field != devices.Memory {
		return n, exact, true
	}
	if v.Units.Memory.Form != devices.Bytes {
		return v.mebibytes(n), exact, true
	}
	if bare := v.Units.Memory.BareMiB; bare > 0 && q.Format != resource.BinarySI && n < bareLimit {
		return mul(n, bare), exact, true
	}
	return n / mebibyte, exact && n%mebibyte == 0, true
}

// Unit is the unit to write after an amount of the resource in a message: empty, or with a leading blank.
func (p *Program) Unit(name string) string {
	if p.owned[name].field == devices.Memory {
		return " MiB"
	}
	return ""
}

// most is above every sum that can be requested.
const most = 1 << 60

// floor is a quantity that is not negative, rounded down.
func floor(q resource.Quantity) (n int64, exact bool) {
	switch {
	case q.Sign() <= 0:
		return 0, q.IsZero()
	case q.CmpInt64(most) >= 0:
		return most, true
	}
	up := q.Value() // rounds away from zero
	if q.CmpInt64(up) == 0 {
		return up, true
	}
	return up - 1, false
}

// ceil is n divided by the unit, rounded up; n is not negative.
func ceil(n, unit int64) int64 {
	if n == 0 {
		return 0
	}
	return (n-1)/unit + 1
}

// mul and add stop at most; their arguments are not negative.
func mul(a, b int64) int64 {
	if a != 0 && b > most/a {
		return most
	}
	return a * b
}

func add(a, b int64) int64 { return min(a+b, most) }
