package await

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// failing keeps the message of Fatalf.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) { f.text = fmt.Sprintf(format, args...) }

// A wait ends after three minutes where checks take no time, and lasts longer where they are slow.
func TestLimitGrowsWithTheLoad(t *testing.T) {
	for name, tc := range map[string]struct{ check, want time.Duration }{
		"idle machine": {0, 3 * time.Minute},
		"busy machine": {pause, 6 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, begin := &failing{TB: t}, time.Now()
				NoError(f, "the end", func() error { time.Sleep(tc.check); return errors.New("not yet") })
				if got := time.Since(begin); got != tc.want || !strings.Contains(f.text, tc.want.String()+" for the end in vain: not yet") {
					t.Errorf("after %s: %q", got, f.text)
				}
			})
		})
	}
}

func TestTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		True(t, "a second", func() bool { return time.Since(begin) >= time.Second })
		if got := time.Since(begin); got != time.Second {
			t.Errorf("ended after %s", got)
		}
	})
}
