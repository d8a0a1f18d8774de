package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// The store is generic; its tests use ConfigMaps, which need no types of ours.
type object = *corev1.ConfigMap

var configMaps = Kind[object]{
	GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Resource: "configmaps", New: func() object { return &corev1.ConfigMap{} },
	State: func(c object) string { return c.Data["state"] },
}

func configMap(namespace, name string, rv int, labels ...string) object {
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), ResourceVersion: strconv.Itoa(rv)}}
	for _, l := range labels {
		metav1.SetMetaDataLabel(&c.ObjectMeta, l, "yes")
	}
	return c
}

// newTestStore returns a store whose cache the test feeds by hand; it must not write.
func newTestStore(t *testing.T, o Options, objs ...any) *Store[object] {
	t.Helper()
	if o.FreshWait == 0 {
		o.FreshWait = 20 * time.Millisecond
	}
	s := New(configMaps, o)
	if err := s.cache.Replace(objs, "100"); err != nil {
		t.Fatal(err)
	}
	return s
}

func names(items []*Item[object]) []string {
	var all []string
	for _, i := range items {
		all = append(all, i.key.Namespace+"/"+i.key.Name)
	}
	return all
}

func TestListOrderAndPaging(t *testing.T) {
	mk := func(ns, name, state string, age int) object {
		c := configMap(ns, name, 10)
		c.Data = map[string]string{"state": state}
		c.CreationTimestamp = metav1.NewTime(time.Unix(int64(1000-age), 0))
		return c
	}
	s := newTestStore(t, Options{}, mk("b", "one", "ready", 1), mk("a", "two", "failed", 2), mk("a", "one", "ready", 3), mk("ab", "x", "", 4))
	for name, tc := range map[string]struct {
		namespace, order string
		want             []string
	}{
		"default":       {want: []string{"a/one", "a/two", "ab/x", "b/one"}},
		"one namespace": {namespace: "a", want: []string{"a/one", "a/two"}},
		"none there":    {namespace: "aa"},
		"by name":       {order: "name", want: []string{"a/one", "b/one", "a/two", "ab/x"}},
		"by age":        {order: "create_time", want: []string{"ab/x", "a/one", "a/two", "b/one"}},
		"newest first":  {order: "createTime desc", want: []string{"b/one", "a/two", "a/one", "ab/x"}},
		"by state":      {order: "state desc, name", want: []string{"a/one", "b/one", "a/two", "ab/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			order, err := ParseOrder(tc.order)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			o := ListOptions[object]{Namespace: tc.namespace, OrderBy: order, PageSize: 1}
			for {
				page, err := s.List(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				if page.Total != len(tc.want) {
					t.Errorf("Total = %d, want %d", page.Total, len(tc.want))
				}
				got = append(got, names(page.Items)...)
				if o.PageToken = page.NextPageToken; o.PageToken == "" {
					break
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("pages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPageTokenIsBoundToItsQuery(t *testing.T) {
	s := newTestStore(t, Options{}, configMap("a", "1", 1), configMap("a", "2", 2), configMap("b", "3", 3))
	page, err := s.List(t.Context(), ListOptions[object]{PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	other := ListOptions[object]{PageSize: 1, Namespace: "a", PageToken: page.NextPageToken}
	if _, err := s.List(t.Context(), other); !errors.Is(err, ErrPageToken) {
		t.Errorf("token of another query: %v, want ErrPageToken", err)
	}
	forged := []byte(page.NextPageToken)
	forged[len(forged)-2] ^= 1
	for _, token := range []string{string(forged), "x", "AAAA", page.NextPageToken + "A"} {
		if _, err := s.List(t.Context(), ListOptions[object]{PageSize: 1, PageToken: token}); !errors.Is(err, ErrPageToken) {
			t.Errorf("token %q: %v, want ErrPageToken", token, err)
		}
	}
}

// collect runs a watch until n events came.
func collect(t *testing.T, s *Store[object], o WatchOptions[object], n int, during func(sofar int)) ([]string, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var got []string
	var token string
	err := s.Watch(ctx, o, func(e Event[object]) error {
		line := map[EventType]string{Added: "ADDED", Modified: "MODIFIED", Deleted: "DELETED", Synced: "SYNCED", Heartbeat: "HEARTBEAT", Reset: "RESET"}[e.Type]
		if e.Item != nil {
			line += " " + e.Item.key.Name
		}
		got, token = append(got, line), e.Token
		if during != nil {
			during(len(got))
		}
		if len(got) == n {
			cancel()
		}
		return nil
	})
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return got, token, err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWatchFollowsAndResumes(t *testing.T) {
	s := newTestStore(t, Options{}, configMap("a", "1", 1, "x"), configMap("a", "2", 2), configMap("b", "3", 3, "x"))
	sel := labels.SelectorFromSet(labels.Set{"x": "yes"})
	got, token, err := collect(t, s, WatchOptions[object]{Namespace: "a", Selector: sel}, 5, func(n int) {
		if n == 2 { // after SYNCED
			must(t, s.cache.Update(configMap("a", "1", 101, "x")))
			must(t, s.cache.Update(configMap("b", "3", 102, "x"))) // other namespace
			must(t, s.cache.Update(configMap("a", "2", 103, "x"))) // begins to match
			must(t, s.cache.Update(configMap("a", "1", 104)))      // stops matching
			must(t, s.cache.Update(configMap("a", "9", 105)))      // never matches
		}
	})
	must(t, err)
	if diff := cmp.Diff([]string{"ADDED 1", "SYNCED", "MODIFIED 1", "ADDED 2", "DELETED 1"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	must(t, s.cache.Delete(configMap("a", "2", 106, "x")))
	got, _, err = collect(t, s, WatchOptions[object]{Namespace: "a", Selector: sel, ResumeToken: token}, 2, nil)
	must(t, err)
	if diff := cmp.Diff([]string{"SYNCED", "DELETED 2"}, got); diff != "" {
		t.Errorf("resumed (-want +got):\n%s", diff)
	}
}

func TestWatchResetsWhenTheTokenIsTooOld(t *testing.T) {
	s := newTestStore(t, Options{LogLength: 4}, configMap("a", "1", 1))
	for i := range 20 {
		must(t, s.cache.Update(configMap("a", "1", 101+i)))
	}
	for name, token := range map[string]string{"old": resumeToken(101), "from the future": resumeToken(9999), "of an initial object": resumeToken(0)} {
		t.Run(name, func(t *testing.T) {
			got, _, err := collect(t, s, WatchOptions[object]{ResumeToken: token}, 3, nil)
			must(t, err)
			if diff := cmp.Diff([]string{"RESET", "ADDED 1", "SYNCED"}, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
	if err := s.Watch(t.Context(), WatchOptions[object]{ResumeToken: "nonsense"}, nil); !errors.Is(err, ErrResumeToken) {
		t.Errorf("nonsense token: %v, want ErrResumeToken", err)
	}
}

func TestWatchCutsOffASlowClient(t *testing.T) {
	s := newTestStore(t, Options{LogLength: 8}, configMap("a", "1", 1))
	_, _, err := collect(t, s, WatchOptions[object]{}, 100, func(n int) {
		if n == 2 {
			for i := range 30 {
				must(t, s.cache.Update(configMap("a", "1", 101+i)))
			}
		}
	})
	if !errors.Is(err, ErrSlowWatcher) {
		t.Errorf("Watch = %v, want ErrSlowWatcher", err)
	}
}

func TestWatchHeartbeatChecksRights(t *testing.T) {
	s := newTestStore(t, Options{Heartbeat: 5 * time.Millisecond}, configMap("a", "1", 1))
	gone := errors.New("no longer allowed")
	beats := 0
	got, _, err := collect(t, s, WatchOptions[object]{SkipInitial: true, OnHeartbeat: func() error {
		if beats++; beats == 3 {
			return gone
		}
		return nil
	}}, 100, nil)
	if !errors.Is(err, gone) {
		t.Errorf("Watch = %v, want %v", err, gone)
	}
	if diff := cmp.Diff([]string{"SYNCED", "HEARTBEAT", "HEARTBEAT"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A list after a lost upstream watch appears to watchers as the changes it implies, and none of its deletions is lost by resuming between them.
func TestRelistBecomesChanges(t *testing.T) {
	s := newTestStore(t, Options{}, configMap("a", "1", 1), configMap("a", "2", 2), configMap("a", "3", 3))
	var tokens []string
	ctx, cancel := context.WithCancel(t.Context())
	var got []string
	_ = s.Watch(ctx, WatchOptions[object]{SkipInitial: true}, func(e Event[object]) error {
		if e.Type == Synced {
			return s.cache.Replace([]any{configMap("a", "3", 150), configMap("a", "4", 140)}, "200")
		}
		got = append(got, fmt.Sprintf("%d %s", e.Type, e.Item.key.Name))
		if tokens = append(tokens, e.Token); len(tokens) == 4 {
			cancel()
		}
		return nil
	})
	want := []string{fmt.Sprintf("%d 4", Added), fmt.Sprintf("%d 3", Modified), fmt.Sprintf("%d 1", Deleted), fmt.Sprintf("%d 2", Deleted)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	resumed, _, err := collect(t, s, WatchOptions[object]{ResumeToken: tokens[2]}, 3, nil)
	must(t, err)
	if diff := cmp.Diff([]string{"SYNCED", "DELETED 1", "DELETED 2"}, resumed); diff != "" {
		t.Errorf("resumed after the first deletion (-want +got):\n%s", diff)
	}
}

func TestReadWaitsForAWrite(t *testing.T) {
	s := newTestStore(t, Options{FreshWait: 5 * time.Second}, configMap("a", "1", 1))
	key := types.NamespacedName{Namespace: "a", Name: "1"}
	s.pending.note(key, pendingWrite{version: 120})
	go func() {
		time.Sleep(20 * time.Millisecond)
		_ = s.cache.Update(configMap("a", "1", 120))
	}()
	item, err := s.Get(t.Context(), key, ReadOptions{})
	must(t, err)
	if item.rv != 120 {
		t.Errorf("read version %d, want 120", item.rv)
	}
	if _, still := s.pending.get(key); still {
		t.Error("a fulfilled write is still pending")
	}
	s.pending.note(key, pendingWrite{gone: "1"})
	go func() {
		time.Sleep(20 * time.Millisecond)
		_ = s.cache.Delete(configMap("a", "1", 130))
	}()
	page, err := s.List(t.Context(), ListOptions[object]{})
	must(t, err)
	if len(page.Items) != 0 {
		t.Errorf("list after delete has %v", names(page.Items))
	}
}

func TestTrim(t *testing.T) {
	c := configMap("a", "1", 1)
	c.ManagedFields = []metav1.ManagedFieldsEntry{{}}
	c.Annotations = map[string]string{lastAppliedAnnotation: "{}", "kept": "yes"}
	s := newTestStore(t, Options{}, c)
	got := s.cache.get(types.NamespacedName{Namespace: "a", Name: "1"}).Object
	if got.ManagedFields != nil || got.Kind != "ConfigMap" {
		t.Errorf("got %v", got)
	}
	if diff := cmp.Diff(map[string]string{"kept": "yes"}, got.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

// FuzzTokens: tokens from anyone are refused and break nothing.
func FuzzTokens(f *testing.F) {
	f.Add("w1.2s", "")
	f.Add(resumePrefix, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	s := New(configMaps, Options{})
	f.Fuzz(func(t *testing.T, resume, page string) {
		if _, err := s.tokens.open(page, "query"); err == nil {
			t.Errorf("page token %q was accepted", page)
		}
		if v, err := parseResumeToken(resume); err == nil && v > 0 && !errors.Is(err, ErrResumeToken) {
			if again, err := parseResumeToken(resumeToken(v)); err != nil || again != v {
				t.Errorf("version %d does not survive its token", v)
			}
		}
		_, _ = ParseOrder(resume)
	})
}
