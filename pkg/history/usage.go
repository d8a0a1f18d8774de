package history

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Usage is what Pods requested, times the seconds for which they ran. It also holds the requests alone.
type Usage struct {
	CPU float64 `json:"cpuSeconds,omitempty"`
	GPU float64 `json:"gpuSeconds,omitempty"`
	TPU float64 `json:"tpuSeconds,omitempty"`
	// Memory is in GiB.
	Memory float64 `json:"memoryGibSeconds,omitempty"`
}

// Plus returns the sum of u and a multiple of what.
func (u Usage) Plus(what Usage, times float64) Usage {
	return Usage{u.CPU + times*what.CPU, u.GPU + times*what.GPU, u.TPU + times*what.TPU, u.Memory + times*what.Memory}
}

// MonthLayout is the layout of a month, for package time.
const MonthLayout = "2006-01"

// Months is the usage by month in UTC.
type Months map[string]Usage

// Add adds requests that lasted from one time to another, to each month its share.
func (m Months) Add(requests Usage, from, to time.Time) {
	for from = from.UTC(); from.Before(to); {
		end := time.Date(from.Year(), from.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		if to.Before(end) {
			end = to.UTC()
		}
		month := from.Format(MonthLayout)
		m[month] = m[month].Plus(requests, end.Sub(from).Seconds())
		from = end
	}
}

const (
	usages = "usage/"
	// maxGroup is the longest part of a key for a queue or an owner.
	maxGroup = 64
)

// usageEntry is the key of an object without content: a listing has all that is summed.
type usageEntry struct {
	month, uid, queue, owner string
	Usage
}

func (e *usageEntry) key(namespace string) string {
	parts := []string{e.uid, escaped(e.queue), escaped(e.owner)}
	for _, n := range []float64{e.CPU, e.GPU, e.TPU, e.Memory} {
		parts = append(parts, strconv.FormatFloat(n, 'f', 3, 64))
	}
	return usages + namespace + "/" + e.month + "/" + strings.Join(parts, "_")
}

// escaped returns a text without the separators of keys. Of a long text it has the beginning.
func escaped(text string) string {
	runes := []rune(strings.ToValidUTF8(text[:min(len(text), maxGroup)], ""))
	for {
		out := strings.ReplaceAll(url.QueryEscape(string(runes)), "_", "%5F")
		if len(out) <= maxGroup {
			return out
		}
		runes = runes[:len(runes)-1]
	}
}

// parseUsage is the reverse of key; false for a key in another form.
func parseUsage(key, namespace string) (e usageEntry, ok bool) {
	month, rest, _ := strings.Cut(strings.TrimPrefix(key, usages+namespace+"/"), "/")
	parts := strings.Split(rest, "_")
	if len(parts) != 7 {
		return e, false
	}
	queue, err1 := url.QueryUnescape(parts[1])
	owner, err2 := url.QueryUnescape(parts[2])
	var n [4]float64
	for i, text := range parts[3:] {
		var err error
		if n[i], err = strconv.ParseFloat(text, 64); err != nil {
			return e, false
		}
	}
	e = usageEntry{month, parts[0], queue, owner, Usage{n[0], n[1], n[2], n[3]}}
	return e, err1 == nil && err2 == nil && e.key(namespace) == key
}
