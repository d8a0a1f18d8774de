package history

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	objects = "objects/"
	index   = "index/"
	// maxName is the longest name that is not shortened: file systems allow 255 bytes, of which an index entry needs about 90.
	maxName = 150
	// lastMilli is subtracted from: its digits are those of the year 2286.
	lastMilli = 9_999_999_999_999
)

// ErrInvalidKey means that a key has a part that no Kubernetes object has.
var ErrInvalidKey = errors.New("invalid key of a record")

// valid returns an error unless all parts are such as Kubernetes allows. It keeps every key within its own folder.
func (k *Key) valid() error {
	for _, part := range []string{k.Kind, k.Namespace, k.Name, k.UID} {
		if !plain(part) {
			return fmt.Errorf("%w: %q", ErrInvalidKey, part)
		}
	}
	if k.Attempt < 0 || k.Attempt > math.MaxInt32 {
		return fmt.Errorf("%w: attempt %d", ErrInvalidKey, k.Attempt)
	}
	return nil
}

// plain reports whether a part is not empty, does not begin with a dot, and has only letters, digits, dots and hyphens.
func plain(part string) bool {
	if part == "" || part[0] == '.' || len(part) > 253 {
		return false
	}
	return strings.IndexFunc(part, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !letter && (r < '0' || r > '9') && r != '.' && r != '-'
	}) < 0
}

// short returns a name of at most maxName bytes.
func short(name string) string {
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:maxName-17] + "-" + hex.EncodeToString(sum[:8])
}

// seconds is a time with leading zeros; zeros for the zero time.
func seconds(t time.Time) string {
	if t.IsZero() {
		return fmt.Sprintf("%011d", 0)
	}
	return fmt.Sprintf("%011d", max(t.Unix(), 0))
}

// Run identifies the attempt among those of the object.
func (k *Key) Run() string { return fmt.Sprintf("%010d-%s", k.Attempt, seconds(k.Started)) }

func (k *Key) created() string { return seconds(k.Created) + "-" + k.UID }

func ofName(namespace, kind, name string) string {
	return objects + namespace + "/" + kind + "/" + short(name) + "/"
}

// folder is the prefix of the objects of a record.
func (k *Key) folder() string {
	return ofName(k.Namespace, k.Kind, k.Name) + k.created() + "/" + k.Run() + "/"
}

// entry is a key of the index.
type entry struct {
	namespace    string
	time         int64 // in milliseconds
	kind         string
	size         int64
	run, created string
	name         string // shortened
}

func (s *Summary) entry(size int64) entry {
	return entry{s.Namespace, s.Ended.UnixMilli(), s.Kind, size, s.Run(), s.created(), short(s.Name)}
}

// newestFirst is a time that sorts in reverse.
func newestFirst(milli int64) string {
	return fmt.Sprintf("%013d", lastMilli-min(max(milli, 0), lastMilli))
}

func (e entry) key() string {
	return index + e.namespace + "/" + strings.Join([]string{
		newestFirst(e.time), e.kind, strconv.FormatInt(e.size, 10), e.run, e.created, e.name,
	}, "_")
}

// folder is that of the record.
func (e entry) folder() string {
	return objects + e.namespace + "/" + e.kind + "/" + e.name + "/" + e.created + "/" + e.run + "/"
}

// parseEntry is the reverse of key; false for a key in another form.
func parseEntry(key string) (e entry, ok bool) {
	namespace, rest, found := strings.Cut(strings.TrimPrefix(key, index), "/")
	parts := strings.Split(rest, "_")
	if !found || len(parts) != 6 {
		return e, false
	}
	reversed, err1 := strconv.ParseInt(parts[0], 10, 64)
	size, err2 := strconv.ParseInt(parts[2], 10, 64)
	e = entry{namespace, lastMilli - reversed, parts[1], size, parts[3], parts[4], parts[5]}
	return e, err1 == nil && err2 == nil && e.key() == key
}

// parseFolder returns the key of a record from that of its record.json; false for other objects, and for those of another UID.
func parseFolder(object string, of Key) (Key, bool) {
	parts := strings.Split(strings.TrimPrefix(object, ofName(of.Namespace, of.Kind, of.Name)), "/")
	if len(parts) != 3 || parts[2] != recordName {
		return Key{}, false
	}
	created, uid, ok1 := strings.Cut(parts[0], "-")
	attempt, started, ok2 := strings.Cut(parts[1], "-")
	if !ok1 || !ok2 || of.UID != "" && of.UID != uid {
		return Key{}, false
	}
	numbers := [3]int64{}
	for i, text := range []string{created, attempt, started} {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return Key{}, false
		}
		numbers[i] = n
	}
	k := Key{
		Kind: of.Kind, Namespace: of.Namespace, Name: of.Name, UID: uid,
		Created: at(numbers[0]), Attempt: int(numbers[1]), Started: at(numbers[2]),
	}
	return k, k.valid() == nil && k.folder()+recordName == object
}

// at is the reverse of seconds.
func at(unix int64) time.Time {
	if unix == 0 {
		return time.Time{}
	}
	return time.Unix(unix, 0).UTC()
}

// IsPart reports whether a text may be a part of a key, such as a name or a UID.
func IsPart(text string) bool { return plain(text) }
