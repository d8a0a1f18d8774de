package dashboardproxy

import (
	"cmp"
	"crypto/rand"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/apiserver/internal/login"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/seal"
	"github.com/raygate/raygate/pkg/history"
)

// ticketLife is how long a page may be used before it must be opened again.
const ticketLife = time.Hour

// Tickets seals and opens the two parts of a browser's access to the pages of one dashboard. The handle is part of their path and is not
// secret. The proof is sent in a cookie or a header. The proof contains its Holder, so that each request is
// authenticated and authorized again. Nothing is stored: every process with the same key opens them.
type Tickets struct {
	box   *seal.Box
	clock clock.PassiveClock
}

// NewTickets returns Tickets with keys as those of seal.New. A nil clock means the real one.
func NewTickets(keys [][]byte, c clock.PassiveClock) *Tickets {
	return &Tickets{box: seal.New(keys, "raygate dashboard tickets"), clock: cmp.Or[clock.PassiveClock](c, clock.RealClock{})}
}

// Handle is the part of a page's path that identifies the dashboard.
type Handle struct {
	// Cluster is that of the dashboard or, with Past, the object of the record.
	Cluster types.NamespacedName
	// Past is the record of a past session; nil for a cluster that exists.
	Past *history.Key
	// ID is random, and the same in the proof.
	ID      string
	Expires time.Time
}

// Holder is the caller to whom a ticket was issued.
type Holder struct {
	// Authorization is the header of the caller; it is empty if none is required.
	Authorization string `json:"a,omitempty"`
	// Session is the login of the caller, nil for a caller without one. The ticket ends with it.
	Session *login.Mark `json:"s,omitempty"`
}

// sealed is the JSON of both.
type sealed struct {
	Holder

	Namespace string       `json:"n,omitempty"`
	Cluster   string       `json:"c,omitempty"`
	Past      *history.Key `json:"p,omitempty"`
	ID        string       `json:"i"`
	Expires   int64        `json:"e"` // seconds since 1970
}

// The purpose of a text is authenticated with it.
const forPath, forProof = "path", "proof"

// Issue returns handle and proof for the pages of a cluster's dashboard or, unless past is nil, of the object's past session.
func (t *Tickets) Issue(of types.NamespacedName, past *history.Key, to Holder) (handle, proof string, expires time.Time) {
	expires, id := t.clock.Now().Add(ticketLife).Truncate(time.Second), rand.Text()
	handle = t.box.Seal(sealed{Namespace: of.Namespace, Cluster: of.Name, Past: past, ID: id, Expires: expires.Unix()}, forPath)
	proof = t.box.Seal(sealed{ID: id, Holder: to, Expires: expires.Unix()}, forProof)
	return handle, proof, expires
}

// Open returns the content of a handle, or an rpcstatus.Error for an invalid or expired one.
func (t *Tickets) Open(handle string) (Handle, error) {
	s, err := t.open(handle, forPath)
	return Handle{types.NamespacedName{Namespace: s.Namespace, Name: s.Cluster}, s.Past, s.ID, time.Unix(s.Expires, 0)}, err
}

// Prove returns the Holder in the proof for a handle.
func (t *Tickets) Prove(h Handle, proof string) (Holder, error) {
	s, err := t.open(proof, forProof)
	if err == nil && s.ID != h.ID {
		err = errTicket
	}
	if err != nil {
		return Holder{}, err
	}
	return s.Holder, nil
}

var errTicket = &rpcstatus.Error{
	Code: codes.Unauthenticated, Reason: "TICKET_EXPIRED", Message: "this address of a dashboard has expired, is another gateway's, or comes without its cookie: open the dashboard again",
}

func (t *Tickets) open(text, purpose string) (sealed, error) {
	var found sealed
	if t.box.Open(text, purpose, &found) != nil || !t.clock.Now().Before(time.Unix(found.Expires, 0)) {
		return sealed{}, errTicket
	}
	return found, nil
}
