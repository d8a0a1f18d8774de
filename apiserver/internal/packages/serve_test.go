package packages

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// slowReader takes what it is sent when take says so.
type slowReader struct {
	*httptest.ResponseRecorder
	sent *atomic.Int32
	take <-chan struct{}
}

func (r slowReader) Write(p []byte) (int, error) {
	r.sent.Add(1)
	<-r.take
	return r.ResponseRecorder.Write(p)
}

// Slow readers hold a bounded number of packages open. The next one waits until one of them ends.
func TestReadersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		if err := w.put(t, "a", "files"); err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, Prefix+w.use(t, "a", "train", "files"), nil)
		handler := w.Handler(func(_ http.ResponseWriter, err error) { t.Error(err) })
		var sent atomic.Int32
		take := make(chan struct{})
		for range maxReaders + 1 {
			go handler.ServeHTTP(slowReader{httptest.NewRecorder(), &sent, take}, request)
		}
		synctest.Wait()
		if n := sent.Load(); n != maxReaders {
			t.Errorf("%d packages are sent at once, want %d", n, maxReaders)
		}
		take <- struct{}{}
		synctest.Wait()
		if n := sent.Load(); n != maxReaders+1 {
			t.Errorf("%d packages are sent after one reader has ended, want one more", n)
		}
		close(take)
	})
}
