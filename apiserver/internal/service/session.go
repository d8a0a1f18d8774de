package service

import (
	"context"
	"io"
	"io/fs"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"

	"github.com/raygate/raygate/apiserver/internal/dashboardproxy"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/history"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// sessions reads past sessions for pages, which repeat their requests every few seconds.
type sessions struct {
	*historyServer
	// known has sessions of records that a request names exactly: those never change.
	known *cache.LRUExpireCache
}

const (
	// maxSessions is the maximum number of cached sessions, of some MiB each. sessionLife is the time for which one is cached.
	maxSessions = 8
	sessionLife = time.Minute
)

// known is a session with its size and the head Service that its cluster had.
type knownSession struct {
	*dashboardproxy.Session
	head string
	size int64
}

// NewPast returns the way to the dashboards of past sessions; nil without a history. files are Ray's pages; nil for none.
func NewPast(r Resources, dashboards *dashboardproxy.Proxy, files fs.FS) *dashboardproxy.Past {
	if r.History == nil {
		return nil
	}
	s := &sessions{historyOf(r, dashboards, store.Tokens{}), cache.NewLRUExpireCache(maxSessions)}
	return &dashboardproxy.Past{Session: s.session, Files: files}
}

// session implements dashboardproxy.Past. The caller needs the right to get the object, and that to read the log.
func (s *sessions) session(ctx context.Context, k history.Key) (*dashboardproxy.Session, error) {
	kind, err := s.kind(k.Kind)
	if err != nil {
		return nil, err
	}
	k, err = keyOfRun(k.Kind, &raygatev2.GetHistoryRequest{Namespace: k.Namespace, Name: k.Name, Uid: k.UID, Attempt: int32(k.Attempt)})
	if err != nil {
		return nil, err
	}
	if err := kind.Permit(ctx, "get", k.Namespace, k.Name); err != nil {
		return nil, err
	}
	found, err := s.read(ctx, k)
	if err != nil {
		return nil, err
	}
	if err := s.proxy.Allowed(ctx, k.Namespace, found.head); err != nil {
		return nil, err
	}
	return found.Session, flowcontrol.Hold(ctx, found.size)
}

// read returns a session without authorization.
func (s *sessions) read(ctx context.Context, k history.Key) (*knownSession, error) {
	exact := k.UID != "" && k.Attempt != 0
	if found, ok := s.known.Get(k); exact && ok {
		return found.(*knownSession), nil
	}
	r, err := s.find(ctx, k, 0)
	if err != nil {
		return nil, err
	}
	found := &knownSession{Session: &dashboardproxy.Session{Summary: r.Summary}, head: headServiceOf(r)}
	if r.HasDashboard {
		if found.Answers, err = s.store.Answers(ctx, r.Key); err != nil {
			return nil, away(ctx, err)
		}
	}
	for _, answer := range found.Answers {
		found.size += int64(len(answer.Body))
	}
	found.Log = func(ctx context.Context, offset int64) (io.ReadCloser, error) {
		in, err := s.store.Log(ctx, r.Key, offset)
		return in, away(ctx, err)
	}
	found.NodeLogs = r.NodeLogs
	found.NodeLog = func(ctx context.Context, l history.NodeLog) (io.ReadCloser, error) {
		in, err := s.store.NodeLog(ctx, r.Key, l, 0)
		return in, away(ctx, err)
	}
	if exact {
		s.known.Add(k, found, sessionLife)
	}
	return found, nil
}
