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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/test/controlplane"
)

// TestOnAPIServer runs what only a real API server can tell, on one control plane.
func TestOnAPIServer(t *testing.T) {
	env := controlplane.Start(t, controlplane.Options{Own: true, Nodes: -1, WithoutScheduler: true, WithoutControllerManager: true, CRDs: controlplane.NoCRDs})
	start := func(t *testing.T) *Store {
		t.Helper()
		client, err := NewClient(env.Config, NewScheme(configMaps.GroupVersionKind), corev1.SchemeGroupVersion, nil)
		must(t, err)
		s := New(configMaps, Options{Reader: client, Writer: client})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { s.Run(ctx); close(done) }()
		t.Cleanup(func() { cancel(); <-done })
		for tries := 0; !s.await(t.Context(), func() bool { return s.cache.synced }); tries++ {
			if tries == 100 {
				t.Fatal("never synced")
			}
		}
		return s
	}
	s := start(t)
	fresh := func(name string) *Object {
		obj := &Object{Object: map[string]any{"data": map[string]any{"a": "1"}}}
		obj.SetNamespace("default")
		obj.SetName(name)
		return obj
	}
	setA := func(obj *Object, value string) { must(t, unstructured.SetNestedField(obj.Object, value, "data", "a")) }
	tree := func(item *Item) *Object {
		content, err := item.Tree()
		must(t, err)
		return &Object{Object: content}
	}

	t.Run("read your own writes", func(t *testing.T) {
		for i := range 50 {
			name := fmt.Sprintf("ryw-%d", i)
			created, err := s.Create(t.Context(), fresh(name), CreateOptions{})
			must(t, err)
			got, err := s.Get(t.Context(), created.key, ReadOptions{})
			must(t, err)
			changed := tree(got)
			if n := strings.Count(string(got.JSON()), `"kind":"ConfigMap"`); n != 1 || got.Kind != "ConfigMap" {
				t.Fatalf("the kind stands %d times in %s", n, got.JSON())
			}
			setA(changed, "2")
			_, err = s.Replace(t.Context(), changed, got, WriteOptions{})
			must(t, err)
			page, err := s.List(t.Context(), ListOptions{Selection: Selection{Namespace: "default"}, PageSize: MaxPageSize})
			must(t, err)
			for _, item := range page.Items {
				if item.key == created.key && item.At("data.a").String() != "2" {
					t.Fatalf("list after replace shows %v", item.At("data"))
				}
			}
			uid, err := s.Delete(t.Context(), created.key, DeleteOptions{})
			must(t, err)
			if uid != created.UID {
				t.Fatalf("deleted uid %q, want %q", uid, created.UID)
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
		for name, st := range map[string]*Store{"same replica": s, "another": other} {
			again, err := st.Create(t.Context(), fresh("once"), o)
			must(t, err)
			if diff := cmp.Diff(first.UID, again.UID); diff != "" {
				t.Errorf("%s: repeated create (-want +got):\n%s", name, diff)
			}
			changed := fresh("once")
			setA(changed, "2")
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
		// A cache that is behind, such as one whose watch broke when the first answer was lost, has not seen what the request made.
		behind := New(configMaps, Options{Reader: s.opts.Reader, Writer: s.opts.Writer, FreshWait: time.Millisecond})
		must(t, behind.cache.Replace(nil, "1"))
		again, err := behind.Create(t.Context(), fresh("once"), o)
		must(t, err)
		got, err := behind.Get(t.Context(), first.key, ReadOptions{})
		must(t, err)
		if got.UID != again.UID {
			t.Errorf("get after a repeated create: %s, want %s", got.UID, again.UID)
		}
		// A copy does not inherit the identity of the request.
		copied := tree(first)
		copied.SetName("copy")
		item, err := s.Create(t.Context(), copied, CreateOptions{})
		must(t, err)
		if diff := cmp.Diff(map[string]string(nil), item.Annotations); diff != "" {
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
					obj.SetGenerateName("gen-")
					item, err := []*Store{s, other}[n%2].Create(context.Background(), obj, CreateOptions{RequestID: fmt.Sprintf("request-%d", i)})
					if err != nil {
						t.Errorf("create: %v", err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					uids[i][item.UID] = true
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
		created, err := s.Create(t.Context(), fresh("rep"), CreateOptions{RequestID: "rep"})
		must(t, err)
		stale := fresh("rep")
		stale.SetResourceVersion("1")
		if _, err := s.Replace(t.Context(), stale, created, WriteOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("with an old version: %v, want conflict", err)
		}
		body := fresh("rep")
		body.SetResourceVersion(created.ResourceVersion)
		setA(body, "new")
		dry, err := s.Replace(t.Context(), body.DeepCopy(), created, WriteOptions{DryRun: true})
		must(t, err)
		now, err := s.Get(t.Context(), created.key, ReadOptions{})
		must(t, err)
		if dry.At("data.a").String() != "new" || now.At("data.a").String() != "1" {
			t.Errorf("dry run gave %v and stored %v", dry.At("data"), now.At("data"))
		}
		item, err := s.Replace(t.Context(), body, created, WriteOptions{})
		must(t, err)
		if item.At("data.a").String() != "new" || item.Annotations[rayv1.AnnotationRequestID] != "rep" {
			t.Errorf("replaced object is %s", item.JSON())
		}
	})

	t.Run("a version the client has seen elsewhere", func(t *testing.T) {
		other := start(t)
		created, err := other.Create(t.Context(), fresh("seen"), CreateOptions{})
		must(t, err)
		// A write of another kind moves the version of the API server on; the watch says nothing of it.
		client, err := NewClient(env.Config, NewScheme(configMaps.GroupVersionKind), corev1.SchemeGroupVersion, nil)
		must(t, err)
		secrets := New(Kind{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Secret"), Resource: "secrets"}, Options{Reader: client, Writer: client})
		secret := fresh("elsewhere")
		unstructured.RemoveNestedField(secret.Object, "data")
		secret.SetResourceVersion("")
		newer, err := secrets.Create(t.Context(), secret, CreateOptions{})
		must(t, err)
		for what, version := range map[string]string{"of the object": created.ResourceVersion, "of another kind": newer.ResourceVersion} {
			o := ReadOptions{MinVersion: version}
			item, err := s.Get(t.Context(), created.key, o)
			must(t, err)
			if item.UID != created.UID {
				t.Errorf("version %s: got %s", what, item.JSON())
			}
			_, err = s.List(t.Context(), ListOptions{Selection: Selection{ReadOptions: o}})
			must(t, err)
			_, _, err = collect(t, s, WatchOptions{Selection: Selection{ReadOptions: o}}, 1, nil)
			must(t, err)
		}
		future := ReadOptions{MinVersion: "999999999999"}
		_, get := s.Get(t.Context(), created.key, future)
		_, list := s.List(t.Context(), ListOptions{Selection: Selection{ReadOptions: future}})
		_, _, watch := collect(t, s, WatchOptions{Selection: Selection{ReadOptions: future}}, 1, nil)
		for what, err := range map[string]error{"get": get, "list": list, "watch": watch} {
			if !errors.Is(err, ErrFutureVersion) {
				t.Errorf("%s of a version of the future: %v, want ErrFutureVersion", what, err)
			}
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
		if _, err := s.Delete(t.Context(), created.key, DeleteOptions{WriteOptions: WriteOptions{DryRun: true}}); err != nil {
			t.Error(err)
		}
		if _, err := s.Get(t.Context(), created.key, ReadOptions{}); err != nil {
			t.Errorf("gone after a dry run: %v", err)
		}
		_, err = s.Delete(t.Context(), created.key, DeleteOptions{UID: created.UID, Version: created.ResourceVersion, Propagation: metav1.DeletePropagationForeground})
		must(t, err)
		if _, err := s.Delete(t.Context(), types.NamespacedName{Namespace: "default", Name: "never"}, DeleteOptions{}); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "\"never\" not found") {
			t.Errorf("missing: %v, want not found", err)
		}
	})

	t.Run("a kind that is not installed", func(t *testing.T) {
		gvk := schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayCluster"}
		client, err := NewClient(env.Config, NewScheme(gvk), gvk.GroupVersion(), nil)
		must(t, err)
		none := New(Kind{GroupVersionKind: gvk, Resource: "rayclusters"}, Options{Reader: client, Writer: client})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { none.Run(ctx); close(done) }()
		defer func() { cancel(); <-done }()
		await.True(t, "ErrNotServed of Ready", func() bool { return errors.Is(none.Ready(), ErrNotServed) })
		if _, err := none.List(t.Context(), ListOptions{}); !errors.Is(err, ErrNotServed) {
			t.Errorf("list: %v, want ErrNotServed", err)
		}
	})

	t.Run("the API server is away", func(t *testing.T) {
		created, err := s.Create(t.Context(), fresh("away"), CreateOptions{})
		must(t, err)
		must(t, env.KillAPIServer())
		await.True(t, "the cache to notice", func() bool { return s.Age() != 0 })
		if _, err := s.Get(t.Context(), created.key, ReadOptions{}); err != nil {
			t.Errorf("get: %v", err)
		}
		if _, err := s.List(t.Context(), ListOptions{}); err != nil {
			t.Errorf("list: %v", err)
		}
		must(t, env.RestartAPIServer())
		await.True(t, "the cache to come back", func() bool { return s.Age() == 0 })
	})

	t.Run("the API server restarts", func(t *testing.T) {
		events := make(chan Event, 100)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			_ = s.Watch(ctx, WatchOptions{Selection: Selection{Namespace: "default"}, SkipInitial: true}, func(e Event) error {
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
			case <-time.After(controlplane.WaitTimeout):
				t.Fatal("the watch did not go on")
			}
		}
	})
}
