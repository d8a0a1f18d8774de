package login

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"net/url"
	"regexp"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/seal"
)

const (
	// RequestLife is how long a person may take to log in at the provider.
	RequestLife = 10 * time.Minute
	// maxKept bounds the renewals, the ends and the sids that are kept.
	maxKept = 20000
)

// The purposes of sealed texts.
const forRequest, forSession = "request", "session"

// Login logs people in at the providers of a Config.
type Login struct {
	config    *Config
	providers []*provider
	box       *seal.Box
	clock     clock.PassiveClock

	flight singleflight.Group
	// renewals are the outcomes of renewals by the hash of issuer and refresh token, so that requests that were sent at the same time share one: many
	// providers take a refresh token once.
	renewals *cache.LRUExpireCache
	// ended are the times of the ends of sessions by endedKey; news has one item after an end that Share has not seen.
	ended *cache.LRUExpireCache
	news  chan struct{}
	// seen are the sessions with a sid that this process has opened, by the endedKey of the sid.
	seen *cache.LRUExpireCache
}

// New returns a Login whose texts are sealed with keys that replicas share; see seal.New. A nil clock means the real one.
func New(c *Config, keys [][]byte, now clock.Clock) (*Login, error) {
	now = cmp.Or[clock.Clock](now, clock.RealClock{})
	kept := func() *cache.LRUExpireCache { return cache.NewLRUExpireCacheWithClock(maxKept, now) }
	l := &Login{config: c, box: seal.New(keys, "raygate logins"), clock: now, renewals: kept(), ended: kept(), news: make(chan struct{}, 1), seen: kept()}
	for i := range c.Providers {
		p, err := newProvider(&c.Providers[i], c.RedirectURL, now.Now)
		if err != nil {
			return nil, err
		}
		l.providers = append(l.providers, p)
	}
	return l, nil
}

// Choice is one provider at the login.
type Choice struct {
	Name   string `json:"name"`
	Issuer string `json:"issuer"`
}

// Choices are the providers, in the order of the Config.
func (l *Login) Choices() (all []Choice) {
	for _, p := range l.providers {
		all = append(all, Choice{p.Name, p.IssuerURL})
	}
	return all
}

// provider returns the provider of an issuer, nil for none.
func (l *Login) provider(issuer string) *provider {
	for _, p := range l.providers {
		if p.IssuerURL == issuer {
			return p
		}
	}
	return nil
}

// request is a login that has begun.
type request struct {
	Issuer  string `json:"i"`
	State   string `json:"s"`
	Nonce   string `json:"n"`
	Proof   string `json:"p"` // of PKCE
	Next    string `json:"to"`
	Expires int64  `json:"e"` // seconds since 1970
}

// consolePage matches the pages to which a login may lead.
var consolePage = regexp.MustCompile(`^/ui/[^/\\]`)

// Begin returns the address of the provider's login and the sealed request, which the browser keeps. next is the page of the console to go to
// afterwards; any other is replaced by the first page.
func (l *Login) Begin(issuer, next string) (address, sealed string, err error) {
	p := l.provider(issuer)
	if p == nil {
		return "", "", rpcstatus.BadField("issuer", "no provider of this gateway; see the login page")
	}
	e, err := p.discover()
	if err != nil {
		return "", "", err
	}
	if !consolePage.MatchString(next) {
		next = "/ui/"
	}
	r := request{Issuer: issuer, State: rand.Text(), Nonce: rand.Text(), Proof: oauth2.GenerateVerifier(), Next: next, Expires: l.clock.Now().Add(RequestLife).Unix()}
	return e.AuthCodeURL(r.State, oauth2.S256ChallengeOption(r.Proof), oidc.Nonce(r.Nonce)), l.box.Seal(r, forRequest), nil
}

// Finished is a login that a provider has confirmed.
type Finished struct {
	// Session is the sealed session, and Token its ID token.
	Session, Token string
	// Next is the page to go to.
	Next string
}

// Finish ends a login: sealed is that of Begin, answer the query of the provider's redirect.
func (l *Login) Finish(ctx context.Context, sealed string, answer url.Values) (*Finished, error) {
	var r request
	if err := l.box.Open(sealed, forRequest, &r); err != nil || l.clock.Now().Unix() >= r.Expires {
		return nil, rpcstatus.BadField("state", "this login was not begun in this browser, or has expired: log in again")
	}
	p := l.provider(r.Issuer)
	switch {
	case p == nil || subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(r.State)) != 1:
		return nil, rpcstatus.BadField("state", "this answer belongs to another login: log in again")
	case answer.Get("iss") != "" && answer.Get("iss") != r.Issuer:
		return nil, rpcstatus.BadField("iss", "this answer is from another identity provider: log in again")
	case answer.Get("error") != "":
		return nil, errRefused("the identity provider refuses: %.200s", answer.Get("error"))
	}
	e, err := p.discover()
	if err != nil {
		return nil, err
	}
	ctx, cancel := p.context(ctx)
	defer cancel()
	token, err := e.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(r.Proof))
	if err != nil {
		return nil, failure(err)
	}
	s, id, err := p.session(ctx, e, token)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(r.Nonce)) != 1 {
		return nil, errRefused("the ID token belongs to another login")
	}
	s.ID, s.Began = rand.Text(), s.Checked
	return &Finished{Session: l.box.Seal(s, forSession), Token: s.IDToken, Next: r.Next}, nil
}
