package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/raygate/raygate/test/envtest"
)

// TestOnAPIServer runs what only a real API server can tell, on one control plane.
func TestOnAPIServer(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	env := envtest.Start(t, envtest.Options{Nodes: -1, WithoutScheduler: true, WithoutControllerManager: true, WithoutCRDs: true})
	start := func(t *testing.T) *Store[object] {
		t.Helper()
		client, err := NewClient(env.Config, clientscheme.Scheme, corev1.SchemeGroupVersion, ClientOptions{})
		must(t, err)
		s := New(configMaps, Options{Reader: client, Writer: client})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { s.Run(ctx); close(done) }()
		t.Cleanup(func() { cancel(); <-done })
		if !s.cache.waitUntil(t.Context(), func() bool { return s.cache.synced }) {
			t.Fatal("never synced")
		}
		return s
	}
	s := start(t)
	fresh := func(name string) object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"a": "1"}}
	}

	t.Run("read your own writes", func(t *testing.T) {
		for i := range 50 {
			name := fmt.Sprintf("ryw-%d", i)
			created, err := s.Create(t.Context(), fresh(name), CreateOptions{})
			must(t, err)
			got, err := s.Get(t.Context(), created.key, ReadOptions{})
			must(t, err)
			changed := got.Object.DeepCopy()
			changed.Data["a"] = "2"
			_, err = s.Replace(t.Context(), changed, ReplaceOptions{})
			must(t, err)
			page, err := s.List(t.Context(), ListOptions[object]{Namespace: "default", PageSize: MaxPageSize})
			must(t, err)
			for _, item := range page.Items {
				if item.key == created.key && item.Object.Data["a"] != "2" {
					t.Fatalf("list after replace shows %v", item.Object.Data)
				}
			}
			uid, err := s.Delete(t.Context(), created.key, DeleteOptions{})
			must(t, err)
			if uid != created.Object.UID {
				t.Fatalf("deleted uid %q, want %q", uid, created.Object.UID)
			}
			if _, err := s.Get(t.Context(), created.key, ReadOptions{}); !apierrors.IsNotFound(err) {
				t.Fatalf("get after delete: %v, want not found", err)
			}
		}
	})

	t.Run("request id", func(t *testing.T) {
		const id = "6b1c9a53-2f4e-4a57-9b55-7d6f6f0c4a11"
		o := CreateOptions{RequestID: id}
		first, err := s.Create(t.Context(), fresh("once"), o)
		must(t, err)
		other := start(t) // another replica, or this one after a crash
		for name, st := range map[string]*Store[object]{"same replica": s, "another": other} {
			again, err := st.Create(t.Context(), fresh("once"), o)
			must(t, err)
			if diff := cmp.Diff(first.Object.UID, again.Object.UID); diff != "" {
				t.Errorf("%s: repeated create (-want +got):\n%s", name, diff)
			}
			changed := fresh("once")
			changed.Data["a"] = "2"
			if _, err := st.Create(t.Context(), changed, o); !errors.Is(err, ErrRequestIDReused) {
				t.Errorf("%s: other body: %v, want ErrRequestIDReused", name, err)
			}
			if _, err := st.Create(t.Context(), fresh("twice"), o); !errors.Is(err, ErrRequestIDReused) {
				t.Errorf("%s: other name: %v, want ErrRequestIDReused", name, err)
			}
		}
		if _, err := s.Create(t.Context(), fresh("once"), CreateOptions{RequestID: "another"}); !apierrors.IsAlreadyExists(err) {
			t.Errorf("other id: %v, want already exists", err)
		}
		// A copy does not inherit the identity of the request.
		copied := first.Object.DeepCopy()
		copied.Name = "copy"
		item, err := s.Create(t.Context(), copied, CreateOptions{})
		must(t, err)
		if diff := cmp.Diff(map[string]string(nil), item.Object.Annotations); diff != "" {
			t.Errorf("annotations of a copy (-want +got):\n%s", diff)
		}
	})

	t.Run("request id with generateName, many at once", func(t *testing.T) {
		other := start(t)
		const requests, repeats = 50, 6
		var mu sync.Mutex
		uids := map[int]map[types.UID]bool{}
		var wg sync.WaitGroup
		for i := range requests {
			uids[i] = map[types.UID]bool{}
			for n := range repeats {
				wg.Go(func() {
					obj := fresh("")
					obj.GenerateName = "gen-"
					item, err := []*Store[object]{s, other}[n%2].Create(context.Background(), obj, CreateOptions{RequestID: fmt.Sprintf("request-%d", i)})
					if err != nil {
						t.Errorf("create: %v", err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					uids[i][item.Object.UID] = true
				})
			}
		}
		wg.Wait()
		all := map[types.UID]bool{}
		for i, got := range uids {
			if len(got) != 1 {
				t.Errorf("request %d made %d objects, want 1", i, len(got))
			}
			for uid := range got {
				all[uid] = true
			}
		}
		if len(all) != requests {
			t.Errorf("%d objects, want %d", len(all), requests)
		}
	})

	t.Run("replace", func(t *testing.T) {
		created, err := s.Create(t.Context(), func() object { c := fresh("rep"); c.Finalizers = []string{"example.com/keep"}; return c }(), CreateOptions{RequestID: "rep"})
		must(t, err)
		if _, err := s.Replace(t.Context(), fresh("rep"), ReplaceOptions{}); !errors.Is(err, ErrVersionRequired) {
			t.Errorf("without version: %v, want ErrVersionRequired", err)
		}
		stale := fresh("rep")
		stale.ResourceVersion = "1"
		if _, err := s.Replace(t.Context(), stale, ReplaceOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("with an old version: %v, want conflict", err)
		}
		body := fresh("rep")
		body.Data["a"] = "new"
		dry, err := s.Replace(t.Context(), body.DeepCopy(), ReplaceOptions{AllowOverwrite: true, DryRun: true})
		must(t, err)
		now, err := s.Get(t.Context(), created.key, ReadOptions{})
		must(t, err)
		if dry.Object.Data["a"] != "new" || now.Object.Data["a"] != "1" {
			t.Errorf("dry run gave %v and stored %v", dry.Object.Data, now.Object.Data)
		}
		item, err := s.Replace(t.Context(), body, ReplaceOptions{AllowOverwrite: true})
		must(t, err)
		if item.Object.Data["a"] != "new" || item.Object.Annotations[AnnotationRequestID] != "rep" || len(item.Object.Finalizers) != 1 {
			t.Errorf("replaced object is %v", item.Object)
		}
	})

	t.Run("delete", func(t *testing.T) {
		created, err := s.Create(t.Context(), fresh("del"), CreateOptions{})
		must(t, err)
		for name, o := range map[string]DeleteOptions{"uid": {UID: "other"}, "version": {Version: "1"}} {
			if _, err := s.Delete(t.Context(), created.key, o); !apierrors.IsConflict(err) {
				t.Errorf("wrong %s: %v, want conflict", name, err)
			}
		}
		if _, err := s.Delete(t.Context(), created.key, DeleteOptions{DryRun: true}); err != nil {
			t.Error(err)
		}
		if _, err := s.Get(t.Context(), created.key, ReadOptions{}); err != nil {
			t.Errorf("gone after a dry run: %v", err)
		}
		_, err = s.Delete(t.Context(), created.key, DeleteOptions{UID: created.Object.UID, Version: created.Object.ResourceVersion, Propagation: metav1.DeletePropagationForeground})
		must(t, err)
		if _, err := s.Delete(t.Context(), types.NamespacedName{Namespace: "default", Name: "never"}, DeleteOptions{}); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "\"never\" not found") {
			t.Errorf("missing: %v, want not found", err)
		}
	})

	t.Run("the API server restarts", func(t *testing.T) {
		events := make(chan Event[object], 100)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		go func() {
			_ = s.Watch(ctx, WatchOptions[object]{Namespace: "default", SkipInitial: true}, func(e Event[object]) error {
				if e.Item != nil {
					events <- e
				}
				return nil
			})
		}()
		must(t, env.RestartAPIServer())
		created, err := s.Create(ctx, fresh("after"), CreateOptions{})
		must(t, err)
		for {
			select {
			case e := <-events:
				if e.Item.key == created.key {
					return
				}
			case <-ctx.Done():
				t.Fatal("the watch did not go on")
			}
		}
	})
}
