package load

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/raygate/raygate/pkg/devices/plan"
)

// Live is a registry that can be replaced while it is in use.
type Live struct{ current atomic.Pointer[plan.Program] }

// NewLive returns one with this registry.
func NewLive(p *plan.Program) *Live {
	l := &Live{}
	l.Replace(p)
	return l
}

// Program returns the current registry. A caller that needs it twice for one answer must call this once.
func (l *Live) Program() *plan.Program { return l.current.Load() }

// Replace replaces the registry.
func (l *Live) Replace(p *plan.Program) { l.current.Store(p) }

// File keeps a Live registry equal to a file. It compares the content, because mounted ConfigMaps change by symbolic links far above the
// file.
type File struct {
	Path string
	Live *Live
	// Every is the interval at which the file is read.
	Every time.Duration
	Clock clock.WithTicker
	// Reloaded is called for each change of the file, with nil or the error in it. After an error the last good registry stays in use.
	Reloaded func(err error)

	last []byte
}

// Open reads the file for the first time. An invalid file is an error, because there is no previous registry.
func (f *File) Open() error {
	data, err := os.ReadFile(f.Path)
	if err != nil {
		return fmt.Errorf("reading the registry of device families: %w", err)
	}
	p, err := Registry(data)
	if err != nil {
		return fmt.Errorf("registry of device families %s: %w", f.Path, err)
	}
	f.last, f.Live = data, NewLive(p)
	return nil
}

// Start reads the file until the context ends. It implements manager.Runnable.
func (f *File) Start(ctx context.Context) error {
	ticker := f.Clock.NewTicker(f.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			f.look()
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica answers the API server.
func (*File) NeedLeaderElection() bool { return false }

func (f *File) look() {
	data, err := os.ReadFile(f.Path)
	if err == nil && bytes.Equal(data, f.last) {
		return
	}
	if err != nil {
		if f.last != nil { // once
			f.Reloaded(fmt.Errorf("reading the registry of device families: %w", err))
		}
		f.last = nil
		return
	}
	f.last = data
	p, err := Registry(data)
	if err == nil {
		f.Live.Replace(p)
	}
	f.Reloaded(err)
}
