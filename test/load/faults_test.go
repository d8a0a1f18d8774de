package load

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/raygate/raygate/internal/testing/await"
)

// wantRetryLater checks that an answer by REST is an error with a hint when to try again.
func wantRetryLater(t *testing.T, what string, got answer, err error, code int) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if after, aerr := strconv.Atoi(got.header.Get("Retry-After")); got.code != code || aerr != nil || after < 1 {
		t.Errorf("%s: %d, Retry-After %q, want %d: %s", what, got.code, got.header.Get("Retry-After"), code, got.body)
	}
}

func body(t *testing.T, ns, name string) []byte {
	t.Helper()
	data, err := marshal(ns, name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestFaultyAPIServer has the API server misbehave in ways that clusters know.
func TestFaultyAPIServer(t *testing.T) {
	c := controlPlane(t)
	ns := c.namespace(t)
	c.create(t, many(ns, "c", 3)...)
	upstream := c.proxy(t)
	g, token := c.gateway(t, upstream.kubeconfig), c.user(t, ns, "user")
	client, web := g.dial(t, token), g.http()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	get := func(t *testing.T, name string) answer {
		t.Helper()
		got, err := send(ctx, web, token, http.MethodGet, g.url(ns, "/"+name), nil)
		if err != nil || got.code != http.StatusOK {
			t.Fatalf("get: %v %d %s", err, got.code, got.body)
		}
		return got
	}
	create := func(t *testing.T, name string) (answer, error) {
		return send(ctx, web, token, http.MethodPost, g.url(ns, "?requestId="+uuid.NewString()), body(t, ns, name))
	}
	created := func(t *testing.T, name string) {
		t.Helper()
		if got, err := create(t, name); err != nil || got.code != http.StatusCreated {
			t.Errorf("create: %v %d %s", err, got.code, got.body)
		}
	}
	watch := follow(ctx, client, ns)
	get(t, "c0")
	mutation := func(r *http.Request) bool {
		return r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/rayclusters")
	}

	t.Run("slow", func(t *testing.T) {
		held, release := make(chan struct{}, 1), make(chan struct{})
		heal := upstream.inject(func(_ http.ResponseWriter, r *http.Request) bool {
			if mutation(r) {
				held <- struct{}{}
				<-release
			}
			return false
		})
		written := make(chan error, 1)
		go func() {
			got, err := create(t, "slow")
			if err == nil && got.code != http.StatusCreated {
				err = fmt.Errorf("%d %s", got.code, got.body)
			}
			written <- err
		}()
		<-held
		get(t, "c0") // does not wait for the write
		close(release)
		if err := <-written; err != nil {
			t.Errorf("the slow write: %v", err)
		}
		heal()
		get(t, "slow")
	})
	t.Run("too many requests", func(t *testing.T) {
		heal := upstream.inject(func(w http.ResponseWriter, r *http.Request) bool {
			return mutation(r) && refuse(w, http.StatusTooManyRequests, "TooManyRequests", "1")
		})
		got, err := create(t, "busy")
		wantRetryLater(t, "write", got, err, http.StatusTooManyRequests)
		get(t, "c0")
		heal()
		created(t, "busy")
	})
	t.Run("an answer that is lost", func(t *testing.T) {
		heal := upstream.inject(func(_ http.ResponseWriter, r *http.Request) bool {
			if mutation(r) {
				panic(http.ErrAbortHandler)
			}
			return false
		})
		got, err := create(t, "lost")
		wantRetryLater(t, "write", got, err, http.StatusServiceUnavailable)
		heal()
		created(t, "lost")
	})
	for name, gone := range map[string]func(http.ResponseWriter) bool{
		"410 as an answer": func(w http.ResponseWriter) bool { return refuse(w, http.StatusGone, "Expired", "") },
		"410 as an event": func(w http.ResponseWriter) bool {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintln(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old resource version","reason":"Expired","code":410}}`)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			heal := upstream.inject(func(w http.ResponseWriter, r *http.Request) bool { return isWatch(r) && gone(w) })
			upstream.cutWatches()
			for i := range 3 {
				if err := c.label(ctx, ns, "c1", fmt.Sprintf("gone-%d", i)); err != nil {
					t.Fatal(err)
				}
			}
			c.create(t, cluster(ns, "gone-"+strconv.Itoa(len(name))))
			heal()
			await.NoError(t, "the watch to be up to date", func() error {
				state := watch.state(ctx)
				if got := state["c1"].GetMetadata().GetLabels()["load"]; got != "gone-2" || state["gone-"+strconv.Itoa(len(name))] == nil {
					return fmt.Errorf("label %q, %d clusters", got, len(state))
				}
				return nil
			})
			if err := c.label(ctx, ns, "c1", "next"); err != nil { // the other way of the table begins anew
				t.Fatal(err)
			}
		})
	}
	t.Run("watches that are cut", func(t *testing.T) {
		for i := range pick(10, 100) {
			created(t, fmt.Sprintf("cut-%d", i))
			upstream.cutWatches()
		}
		await.NoError(t, "all of them in the watch", func() error {
			state := watch.state(ctx)
			for i := range pick(10, 100) {
				if state[fmt.Sprintf("cut-%d", i)] == nil {
					return fmt.Errorf("cut-%d is missing", i)
				}
			}
			return nil
		})
	})
	t.Run("restarting", func(t *testing.T) {
		restarted := make(chan error, 1)
		go func() { restarted <- c.RestartAPIServer() }()
		for i := range pick(30, 300) {
			id := uuid.NewString()
			await.NoError(t, "a create", func() error {
				got, err := send(ctx, web, token, http.MethodPost, g.url(ns, "?requestId="+id), body(t, ns, fmt.Sprintf("again-%d", i)))
				switch {
				case err != nil:
					t.Fatal(err)
				case got.code == http.StatusCreated:
					return nil
				// An API server that has just started forbids everything until it has read roles and bindings.
				case got.code != http.StatusServiceUnavailable && got.code != http.StatusTooManyRequests && got.code != http.StatusForbidden:
					t.Fatalf("create: %d %s", got.code, got.body)
				}
				return fmt.Errorf("%d %s", got.code, got.body)
			})
			get(t, fmt.Sprintf("again-%d", i))
		}
		if err := <-restarted; err != nil {
			t.Fatal(err)
		}
	})
	cancel()
	if err := <-watch.ended; err != nil || watch.resets != 0 {
		t.Errorf("the watch ended with %v, and began anew %d times", err, watch.resets)
	}
}
