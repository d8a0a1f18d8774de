package report

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/operator/internal/byowner"
)

// Once remembers what was said about an object, so that it is said again only when it differs. All of it can be lost at any time:
// what holds is said once more then, unless a stored condition says it already. The zero value is ready; it may be used from
// several goroutines.
type Once struct {
	said byowner.Map[string, []string] // texts by subject
}

// Has reports whether the text is among those said last on the subject.
func (o *Once) Has(object types.UID, subject, text string) bool {
	texts, _ := o.said.Get(object, subject)
	return slices.Contains(texts, text)
}

// Say notes all that is said on the subject, in the place of what was said before.
func (o *Once) Say(object types.UID, subject string, texts ...string) {
	o.said.Set(object, subject, texts)
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
func (o *Once) Forget(object types.UID) { o.said.Forget(object) }
