package dashboardproxy

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

const (
	// ticketLife is how long a page may be used before it is opened anew.
	ticketLife = time.Hour
	// maxTicket is the longest ticket that is read: that of the longest token.
	maxTicket = 60 << 10
)

// Tickets seals and opens what stands in the path of a dashboard page, because a page without an origin has no other credentials. Nothing is kept: every
// process with the same key opens a ticket, which names one cluster and holds the Authorization header of its caller, so that who that is, and what they
// may do, is asked for each request.
type Tickets struct {
	seal  cipher.AEAD
	clock clock.PassiveClock
}

// NewTickets returns Tickets of a key that replicas share, empty for one of this process alone. A nil clock means the real one.
func NewTickets(shared []byte, c clock.PassiveClock) (*Tickets, error) {
	if len(shared) == 0 {
		shared = make([]byte, sha256.Size)
		_, _ = rand.Read(shared) // never fails
	}
	if c == nil {
		c = clock.RealClock{}
	}
	mac := hmac.New(sha256.New, shared) // the same secret keys page tokens
	mac.Write([]byte("raygate dashboard tickets"))
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		return nil, fmt.Errorf("making the cipher of tickets: %w", err)
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("making the cipher of tickets: %w", err)
	}
	return &Tickets{seal: seal, clock: c}, nil
}

// ticket is what is sealed.
type ticket struct {
	Namespace     string `json:"n"`
	Cluster       string `json:"c"`
	Authorization string `json:"a,omitempty"`
	Expires       int64  `json:"e"` // seconds since 1970
}

// Issue returns a ticket for the pages of a cluster's dashboard, and when it expires. authorization is the header of the caller, empty where none is asked for.
func (t *Tickets) Issue(cluster types.NamespacedName, authorization string) (text string, expires time.Time, err error) {
	expires = t.clock.Now().Add(ticketLife).Truncate(time.Second)
	plain, err := json.Marshal(ticket{cluster.Namespace, cluster.Name, authorization, expires.Unix()})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("writing a ticket: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(t.seal.Seal(nil, nil, plain, nil)), expires, nil
}

// Open returns what Issue was given, or an rpcstatus.Error for a ticket that is none or has expired.
func (t *Tickets) Open(text string) (cluster types.NamespacedName, authorization string, expires time.Time, err error) {
	var found ticket
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text[:min(len(text), maxTicket)])
	if err == nil {
		sealed, err = t.seal.Open(nil, nil, sealed, nil)
	}
	if err == nil {
		err = json.Unmarshal(sealed, &found)
	}
	expires = time.Unix(found.Expires, 0)
	if err != nil || !t.clock.Now().Before(expires) {
		return types.NamespacedName{}, "", time.Time{}, &rpcstatus.Error{
			Code: codes.Unauthenticated, Reason: "TICKET_EXPIRED", Message: "this address of a dashboard has expired, or is another gateway's: open the dashboard again",
		}
	}
	return types.NamespacedName{Namespace: found.Namespace, Name: found.Cluster}, found.Authorization, expires, nil
}
