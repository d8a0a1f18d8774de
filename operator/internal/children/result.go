package children

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/report"
)

// Operation is a write of a child.
type Operation string

// Operations, with the names of event actions.
const (
	// None means that nothing had to be written.
	None   Operation = ""
	Create Operation = "Create"
	Update Operation = "Update"
	Delete Operation = "Delete"
)

// Result is the result for one child.
type Result struct {
	// Object is the child on the server, or its metadata for kinds with a metadata-only cache; nil if there is none.
	Object client.Object
	// Kind and Name are those of the child.
	Kind, Name string
	// Done is the operation that succeeded in this call.
	Done Operation
	// Failure is the user-visible reason why the child is not as wanted; nil if it is, or if the state is unknown.
	Failure *Failure
	// Stale means that nothing was decided, because the cache shows an outdated version.
	Stale bool
	// After is the time until the next reconcile; 0 requests none.
	After time.Duration
	// Err is an error of the API server that does not concern the child, for example a timeout. It should be retried and not
	// reported.
	Err error
}

// Wanted reports whether the child is as wanted, as far as known.
func (r Result) Wanted() bool { return r.Err == nil && r.Failure == nil && !r.Stale }

// Events returns the events for a write, and for a failure if news returns true for it. Reasons are those of KubeRay 1.7:
// CreatedX, FailedToUpdateX and so on, with what as X.
func (r Result) Events(what string, news func(text string) bool) []report.Event {
	var list []report.Event
	if r.Done != None {
		list = append(list, report.Normal(past[r.Done]+what, string(r.Done), "%s %s %s", past[r.Done], r.Kind, r.Name))
	}
	if f := r.Failure; f != nil && news(f.Message) {
		list = append(list, report.Warning("FailedTo"+string(f.Operation)+what, string(f.Operation), f.Message))
	}
	return list
}

var past = map[Operation]string{Create: "Created", Update: "Updated", Delete: "Deleted"}

// Failure is an operation that did not produce the wanted child.
type Failure struct {
	Operation Operation
	Message   string
	// Refusal is conditions.Refusal of the API server's error; empty if the operator did not send a request.
	Refusal string
	// Cause is the API server's error without the additions in Message; nil if the operator did not send a request.
	Cause error
	// Taken means that another object has the name.
	Taken bool
}
