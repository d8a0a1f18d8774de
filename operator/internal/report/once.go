package report

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Once remembers what was said about an object, so that it is said again only when it differs. All of it can be lost at any time:
// what holds is said once more then, unless a stored condition says it already. The zero value is ready; it may be used from
// several goroutines.
type Once struct {
	mu   sync.Mutex
	said map[types.UID]map[string][]string // texts by subject
}

// Has reports whether the text is among those said last on the subject.
func (o *Once) Has(object types.UID, subject, text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Contains(o.said[object][subject], text)
}

// Say notes all that is said on the subject, in the place of what was said before.
func (o *Once) Say(object types.UID, subject string, texts ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(texts) == 0 {
		delete(o.said[object], subject)
		return
	}
	if o.said == nil {
		o.said = map[types.UID]map[string][]string{}
	}
	if o.said[object] == nil {
		o.said[object] = map[string][]string{}
	}
	o.said[object][subject] = texts
}

// News is Say, and reports whether the text was not among those said last.
func (o *Once) News(object types.UID, subject, text string) bool {
	if o.Has(object, subject, text) {
		return false
	}
	o.Say(object, subject, text)
	return true
}

// Forget drops an object that is gone.
func (o *Once) Forget(object types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.said, object)
}
