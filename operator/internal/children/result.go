package children

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/report"
)

// Operation is what was done to a child, or could not be done.
type Operation string

// Operations, as the action of an event names them.
const (
	// None says that nothing had to be written.
	None   Operation = ""
	Create Operation = "Create"
	Update Operation = "Update"
	Delete Operation = "Delete"
)

// Result is what became of one child.
type Result struct {
	// Object is the child as the server has it, or its metadata for kinds of which nothing else is cached; nil if there is none.
	Object client.Object
	// Kind and Name are those of the child.
	Kind, Name string
	// Done is the operation that succeeded in this run.
	Done Operation
	// Failure says why the child is not as wanted, for the user to see; nil if it is, or nobody knows.
	Failure *Failure
	// Stale says that nothing was decided, because the cache still shows a version that somebody has replaced.
	Stale bool
	// After asks for another look after this time; zero for none.
	After time.Duration
	// Err is what only the API server knows, such as that it is away: worth a retry, and nothing to tell a user of the child.
	Err error
}

// Wanted reports whether the child is as it is wanted, as far as anybody knows.
func (r Result) Wanted() bool { return r.Err == nil && r.Failure == nil && !r.Stale }

// Events tell what was done, and what is refused if that is news. Reasons are those of KubeRay 1.7: CreatedX, FailedToUpdateX and so on,
// X being what.
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

// Failure is an operation that does not lead to the child that is wanted.
type Failure struct {
	Operation Operation
	Message   string
	// Refusal is report.Refusal for what the API server answered; empty for what it was not asked.
	Refusal string
	// Cause is what the API server answered, without what Message adds; nil for what it was not asked.
	Cause error
	// Taken says that something else has the name.
	Taken bool
}
