package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	restfake "k8s.io/client-go/rest/fake"
	testingclock "k8s.io/utils/clock/testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// A store works with any kind; its tests use ConfigMaps, which need no types of this project.
var configMaps = Kind{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Resource: "configmaps", State: "data.state"}

func configMap(namespace, name string, rv int, labels ...string) *Item {
	return itemOf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), ResourceVersion: strconv.Itoa(rv)}}, labels...)
}

func itemOf(c *corev1.ConfigMap, labels ...string) *Item {
	for _, l := range labels {
		metav1.SetMetaDataLabel(&c.ObjectMeta, l, "yes")
	}
	data, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	item, err := ParseItem(data)
	if err != nil {
		panic(err)
	}
	return item
}

// newTestStore returns a store whose cache the test feeds by hand; it must not write.
func newTestStore(t *testing.T, o Options, objs ...any) *Store {
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

func names(items []*Item) []string {
	var all []string
	for _, i := range items {
		all = append(all, i.key.Namespace+"/"+i.key.Name)
	}
	return all
}

func TestListOrderAndPaging(t *testing.T) {
	mk := func(ns, name, state string, age int) *Item {
		return itemOf(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, ResourceVersion: "10", CreationTimestamp: metav1.NewTime(time.Unix(int64(1000-age), 0))},
			Data:       map[string]string{"state": state},
		})
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
			o := ListOptions{Selection: Selection{Namespace: tc.namespace}, OrderBy: order, PageSize: 1}
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
	page, err := s.List(t.Context(), ListOptions{PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	other := ListOptions{PageSize: 1, Selection: Selection{Namespace: "a"}, PageToken: page.NextPageToken}
	if _, err := s.List(t.Context(), other); !errors.Is(err, ErrPageToken) {
		t.Errorf("token of another query: %v, want ErrPageToken", err)
	}
	forged := []byte(page.NextPageToken)
	forged[len(forged)-2] ^= 1
	for _, token := range []string{string(forged), "x", "AAAA", page.NextPageToken + "A"} {
		if _, err := s.List(t.Context(), ListOptions{PageSize: 1, PageToken: token}); !errors.Is(err, ErrPageToken) {
			t.Errorf("token %q: %v, want ErrPageToken", token, err)
		}
	}
}

// A watch from the version of any page sees all that has changed since the first.
func TestPagesHaveTheVersionOfTheFirst(t *testing.T) {
	s := newTestStore(t, Options{}, configMap("a", "1", 1), configMap("a", "2", 2))
	first, err := s.List(t.Context(), ListOptions{PageSize: 1})
	must(t, err)
	must(t, s.cache.Update(configMap("a", "1", 105)))
	second, err := s.List(t.Context(), ListOptions{PageSize: 1, PageToken: first.NextPageToken})
	must(t, err)
	if second.Version != first.Version || len(second.Items) != 1 {
		t.Errorf("the second page has version %q, the first %q", second.Version, first.Version)
	}
}

// A key that is replaced opens the tokens that it has sealed, as long as it is among the others.
func TestPageTokensAfterTheirKeyWasReplaced(t *testing.T) {
	of := func(keys ...string) Tokens {
		var all [][]byte
		for _, key := range keys {
			all = append(all, []byte(key))
		}
		return NewTokens(all, testingclock.NewFakeClock(time.Now()))
	}
	token, got := of("old").Seal("cursor", "query"), ""
	for name, want := range map[string]error{"new old": nil, "old new": nil, "new": ErrPageToken, "": ErrPageToken} {
		if err := of(strings.Fields(name)...).Open(token, "query", &got); !errors.Is(err, want) {
			t.Errorf("keys %q: %v, want %v", name, err, want)
		}
	}
}

// A filter that takes long ends with its call.
func TestSelectionEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	objects := make([]any, 2000)
	for n := range objects {
		objects[n] = configMap("a", fmt.Sprint(n), n)
	}
	s := newTestStore(t, Options{}, objects...)
	_, err := s.List(ctx, ListOptions{Selection: Selection{Match: func(*Item) bool {
		cancel()
		asked++
		return true
	}}})
	if !errors.Is(err, context.Canceled) || asked == 2000 {
		t.Errorf("%v after %d objects", err, asked)
	}
}

// collect runs a watch until n events came.
func collect(t *testing.T, s *Store, o WatchOptions, n int, during func(sofar int)) ([]string, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var got []string
	var token string
	err := s.Watch(ctx, o, func(e Event) error {
		line := string(e.Type)
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
	got, token, err := collect(t, s, WatchOptions{Selection: Selection{Namespace: "a", Selector: sel}}, 5, func(n int) {
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
	got, _, err = collect(t, s, WatchOptions{Selection: Selection{Namespace: "a", Selector: sel}, ResumeToken: token}, 2, nil)
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
			got, _, err := collect(t, s, WatchOptions{ResumeToken: token}, 3, nil)
			must(t, err)
			if diff := cmp.Diff([]string{"RESET", "ADDED 1", "SYNCED"}, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
	broken := errors.New("the client is gone")
	for before := range 2 { // SYNCED is not reached
		token := resumeToken(101)
		sofar := 0
		err := s.Watch(t.Context(), WatchOptions{ResumeToken: token}, func(e Event) error {
			if sofar++; sofar > before+1 {
				return broken
			}
			token = e.Token
			return nil
		})
		if !errors.Is(err, broken) {
			t.Fatal(err)
		}
		got, _, err := collect(t, s, WatchOptions{ResumeToken: token}, 3, nil)
		must(t, err)
		if diff := cmp.Diff([]string{"RESET", "ADDED 1", "SYNCED"}, got); diff != "" {
			t.Errorf("after %d events (-want +got):\n%s", before+1, diff)
		}
	}
	if err := s.Watch(t.Context(), WatchOptions{ResumeToken: "nonsense"}, nil); !errors.Is(err, ErrResumeToken) {
		t.Errorf("nonsense token: %v, want ErrResumeToken", err)
	}
}

func TestWatchCutsOffASlowClient(t *testing.T) {
	s := newTestStore(t, Options{LogLength: 8}, configMap("a", "1", 1))
	_, _, err := collect(t, s, WatchOptions{}, 100, func(n int) {
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
	got, _, err := collect(t, s, WatchOptions{SkipInitial: true, OnHeartbeat: func() error {
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

// The initial objects of a watch include own writes that the upstream watch has not delivered yet.
func TestWatchBeginsWithPendingWrites(t *testing.T) {
	s := newTestStore(t, Options{FreshWait: time.Minute})
	item := configMap("a", "1", 120)
	s.record(&pendingWrite{key: item.key, item: item})
	go func() {
		time.Sleep(20 * time.Millisecond)
		_ = s.cache.Update(configMap("a", "1", 120))
	}()
	got, _, err := collect(t, s, WatchOptions{Selection: Selection{Namespace: "a"}}, 2, nil)
	must(t, err)
	if diff := cmp.Diff([]string{"ADDED 1", "SYNCED"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A thousand objects are paged, in every order, while others come, change and go: none is shown twice, and none that stays is missed.
func TestPagingWhileObjectsChange(t *testing.T) {
	const stable = 1000
	var objs []any
	for n := range stable {
		objs = append(objs, itemOf(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("ns%d", n%7), Name: fmt.Sprintf("stable-%d", n), ResourceVersion: strconv.Itoa(n + 1), CreationTimestamp: metav1.NewTime(time.Unix(int64(n%50), 0))},
			Data:       map[string]string{"state": strconv.Itoa(n % 3)},
		}))
	}
	s := New(configMaps, Options{})
	must(t, s.cache.Replace(objs, "10000"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for rv := 10001; ctx.Err() == nil; rv++ {
			name := fmt.Sprintf("passing-%d", rv%500)
			if rv%3 == 0 {
				_ = s.cache.Delete(configMap("ns3", name, rv))
			} else {
				_ = s.cache.Update(configMap("ns3", name, rv))
			}
		}
	}()
	defer func() { cancel(); <-done }()
	for _, text := range []string{"", "name desc", "create_time desc, name", "state, create_time"} {
		order, err := ParseOrder(text)
		must(t, err)
		seen := map[types.NamespacedName]bool{}
		found := 0
		for o := (ListOptions{OrderBy: order}); ; {
			page, err := s.List(t.Context(), o)
			must(t, err)
			for _, item := range page.Items {
				if seen[item.key] {
					t.Fatalf("order %q shows %s twice", text, item.key)
				}
				seen[item.key] = true
				if strings.HasPrefix(item.Name, "stable-") {
					found++
				}
			}
			if o.PageToken = page.NextPageToken; o.PageToken == "" {
				break
			}
		}
		if found != stable {
			t.Errorf("order %q shows %d of %d objects that stay", text, found, stable)
		}
	}
}

// A list after a lost upstream watch appears to watchers as the changes it implies, and none of its deletions is lost by resuming between them.
func TestRelistBecomesChanges(t *testing.T) {
	s := newTestStore(t, Options{}, configMap("a", "1", 1), configMap("a", "2", 2), configMap("a", "3", 3))
	var tokens []string
	ctx, cancel := context.WithCancel(t.Context())
	var got []string
	_ = s.Watch(ctx, WatchOptions{SkipInitial: true}, func(e Event) error {
		if e.Type == Synced {
			return s.cache.Replace([]any{configMap("a", "3", 150), configMap("a", "4", 140)}, "200")
		}
		got = append(got, fmt.Sprintf("%s %s", e.Type, e.Item.key.Name))
		if tokens = append(tokens, e.Token); len(tokens) == 4 {
			cancel()
		}
		return nil
	})
	want := []string{fmt.Sprintf("%s 4", Added), fmt.Sprintf("%s 3", Modified), fmt.Sprintf("%s 1", Deleted), fmt.Sprintf("%s 2", Deleted)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	for n, token := range tokens { // changes that were sent already may come again
		resumed, _, err := collect(t, s, WatchOptions{ResumeToken: token}, 5, nil)
		must(t, err)
		if diff := cmp.Diff([]string{"SYNCED", "ADDED 4", "MODIFIED 3", "DELETED 1", "DELETED 2"}, resumed); diff != "" {
			t.Errorf("resumed after change %d (-want +got):\n%s", n, diff)
		}
	}
	_, last, err := collect(t, s, WatchOptions{SkipInitial: true}, 1, nil)
	must(t, err)
	if last != resumeToken(200) {
		t.Errorf("the token of a watch that begins after the list is %s", last)
	}
}

// The newest object of a list may have the version of the list, which the deletions share.
func TestRelistOfTheNewestVersion(t *testing.T) {
	s := newTestStore(t, Options{}, configMap("a", "1", 1), configMap("a", "2", 2))
	var token string
	cut := errors.New("cut off")
	err := s.Watch(t.Context(), WatchOptions{SkipInitial: true}, func(e Event) error {
		if e.Type == Synced {
			return s.cache.Replace([]any{configMap("a", "2", 150)}, "150")
		}
		token = e.Token
		return cut
	})
	if !errors.Is(err, cut) {
		t.Fatal(err)
	}
	must(t, s.cache.Update(configMap("a", "9", 151)))
	resumed, _, err := collect(t, s, WatchOptions{ResumeToken: token}, 3, nil)
	must(t, err)
	if !slices.Contains(resumed, "DELETED 1") {
		t.Errorf("the deletion is lost: %v", resumed)
	}
}

// A deletion is seen also by readers who ask before the watch has brought the object.
func TestReadsShowADeleteBeforeTheWatchHasTheObject(t *testing.T) {
	now := testingclock.NewFakeClock(time.Unix(1e9, 0))
	s := newTestStore(t, Options{Clock: now})
	made := configMap("a", "1", 120)
	is := func(what string, want bool) {
		t.Helper()
		_, err := s.Get(t.Context(), made.key, ReadOptions{})
		if (err == nil) != want {
			t.Errorf("get %s: %v", what, err)
		}
		page, err := s.List(t.Context(), ListOptions{})
		must(t, err)
		if (len(page.Items) > 0) != want {
			t.Errorf("list %s: %v", what, names(page.Items))
		}
	}
	s.record(&pendingWrite{key: made.key, item: made})
	is("after the create", true)
	s.record(&pendingWrite{key: made.key, deleted: made.UID})
	is("after the delete", false)
	other := configMap("a", "2", 119)
	s.record(&pendingWrite{key: other.key, deleted: "x"}) // another write goes through what is pending
	must(t, s.cache.Update(made))
	is("when the watch has the object", false)
	again := configMap("a", "1", 130)
	again.UID = "another"
	must(t, s.cache.Update(again))
	is("when somebody else has made another one", true)
	now.Step(2 * deletedLife)
	s.record(&pendingWrite{key: other.key, deleted: "y"})
	if all, _ := s.pending.inNamespace(""); len(all) != 1 {
		t.Errorf("%d deletions are pending after minutes", len(all))
	}
}

// An API server that was restored from a backup begins with old versions. What was written before hides nothing then.
func TestRestoredVersions(t *testing.T) {
	s := newTestStore(t, Options{}, configMap("a", "1", 1))
	written := configMap("a", "1", 900)
	s.record(&pendingWrite{key: written.key, item: written})
	must(t, s.cache.Replace([]any{configMap("a", "1", 2)}, "50"))
	item, err := s.Get(t.Context(), written.key, ReadOptions{})
	must(t, err)
	if item.ResourceVersion != "2" {
		t.Errorf("got version %s of before the restore", item.ResourceVersion)
	}
}

// A create waits for another one of the same request no longer than its caller.
func TestCreateWaitsAsLongAsItsCaller(t *testing.T) {
	s := newTestStore(t, Options{})
	k := requestKey{"a", "1"}
	done, err := s.begin(t.Context(), k)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.begin(ctx, k); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	other, err := s.begin(t.Context(), requestKey{"a", "2"})
	must(t, err)
	other()
	done()
	again, err := s.begin(t.Context(), k)
	must(t, err)
	again()
}

// A page ends before it has too many bytes, and the pages have everything.
func TestPagesByBytes(t *testing.T) {
	var objs []any
	for n := range 10 {
		objs = append(objs, configMap("a", strconv.Itoa(n), n+1))
	}
	s := newTestStore(t, Options{}, objs...)
	size := func(item *Item) int {
		if item.Name == "4" {
			return 3 * MaxPageBytes // larger than a page
		}
		return MaxPageBytes / 3
	}
	var pages []string
	o := ListOptions{Size: size}
	for {
		page, err := s.List(t.Context(), o)
		must(t, err)
		if page.Total != 10 {
			t.Errorf("total %d", page.Total)
		}
		pages = append(pages, strings.Join(names(page.Items), " "))
		if o.PageToken = page.NextPageToken; o.PageToken == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"a/0 a/1 a/2", "a/3", "a/4", "a/5 a/6 a/7", "a/8 a/9"}, pages); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

// A read shows what was written before the watch has brought it, and what the watch brings after that.
func TestReadsShowPendingWrites(t *testing.T) {
	s := newTestStore(t, Options{}, configMap("a", "1", 1), configMap("a", "3", 3))
	key := types.NamespacedName{Namespace: "a", Name: "1"}
	shows := func(what string, want ...string) {
		t.Helper()
		page, err := s.List(t.Context(), ListOptions{})
		must(t, err)
		var got []string
		for _, i := range page.Items {
			got = append(got, i.Name+"@"+i.ResourceVersion)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("list %s (-want +got):\n%s", what, diff)
		}
		for _, w := range want {
			name, version, _ := strings.Cut(w, "@")
			item, err := s.Get(t.Context(), types.NamespacedName{Namespace: "a", Name: name}, ReadOptions{})
			must(t, err)
			if item.ResourceVersion != version {
				t.Errorf("get %s %s: version %s, want %s", name, what, item.ResourceVersion, version)
			}
		}
	}
	s.record(&pendingWrite{key: key, item: configMap("a", "1", 120)})
	s.record(&pendingWrite{key: types.NamespacedName{Namespace: "a", Name: "2"}, item: configMap("a", "2", 121)})
	shows("before the watch", "1@120", "2@121", "3@3")
	must(t, s.cache.Update(configMap("a", "1", 120)))
	must(t, s.cache.Update(configMap("a", "2", 125))) // changed by somebody else meanwhile
	shows("after the watch", "1@120", "2@125", "3@3")
	s.record(&pendingWrite{key: key, deleted: "1"})
	shows("after a delete", "2@125", "3@3")
	if _, err := s.Get(t.Context(), key, ReadOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get after delete: %v, want not found", err)
	}
	must(t, s.cache.Delete(configMap("a", "1", 130)))
	shows("after the watch of the delete", "2@125", "3@3")
}

// When too many writes are pending the older half is dropped, and reads wait for the watch to reach them; writes that the watch has delivered are dropped, too.
func TestPendingWritesAreBounded(t *testing.T) {
	now := testingclock.NewFakeClock(time.Unix(1e9, 0))
	s := newTestStore(t, Options{Clock: now})
	write := func(n int) {
		item := configMap("a", strconv.Itoa(n), n)
		s.record(&pendingWrite{key: item.key, item: item})
		now.Step(time.Millisecond)
	}
	for n := 1001; n < 1001+maxPending; n++ {
		item := configMap("a", strconv.Itoa(n), n)
		s.pending.byKey[item.key] = &pendingWrite{key: item.key, item: item, at: now.Now()}
		now.Step(time.Millisecond)
	}
	newest := 1001 + maxPending
	write(newest)
	half := 1001 + maxPending/2
	if w, floor := s.pending.get(types.NamespacedName{Namespace: "a", Name: strconv.Itoa(half)}); w != nil || floor != uint64(half) {
		t.Errorf("the last write of the older half is %v with floor %d, want gone and %d", w, floor, half)
	}
	for n := half + 1; n <= newest; n++ {
		if w, _ := s.pending.get(types.NamespacedName{Namespace: "a", Name: strconv.Itoa(n)}); w == nil {
			t.Fatalf("write %d is not pending", n)
		}
	}
	must(t, s.cache.Bookmark("100000"))
	write(100001)
	if all, _ := s.pending.inNamespace(""); len(all) != 1 {
		t.Errorf("%d writes are pending, want the last one only", len(all))
	}
}

// A watcher that is slow keeps a few changes from being freed, and not the log that they were part of.
func TestWatcherHoldsFewChanges(t *testing.T) {
	s := newTestStore(t, Options{})
	w := &watcher{s: s}
	long := strings.Repeat("x", watchBatchBytes/2)
	for n := 101; n < 121; n++ {
		must(t, s.cache.Update(itemOf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: strconv.Itoa(n), ResourceVersion: strconv.Itoa(n)}, Data: map[string]string{"a": long}})))
	}
	seen := 0
	for seen < 20 {
		batch, _, _, err := w.read()
		must(t, err)
		bytes := 0
		for _, ch := range batch {
			bytes += ch.held()
		}
		if len(batch) == 0 || bytes > watchBatchBytes+len(long)+1000 || cap(batch) > 2*len(batch)+8 {
			t.Fatalf("after %d changes a batch has %d changes of %d, and %d bytes", seen, len(batch), cap(batch), bytes)
		}
		seen += len(batch)
	}
}

// Request ids live as long as the versions of objects that carry them, in the cache and among the writes that are pending.
func TestRequestIDsDoNotLeak(t *testing.T) {
	made := func(name, id string, rv int) *Item {
		return itemOf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: name, ResourceVersion: strconv.Itoa(rv), Annotations: map[string]string{rayv1.AnnotationRequestID: id},
		}})
	}
	s := newTestStore(t, Options{}, made("changed", "0", 1))
	for n := 101; n < 200; n++ {
		must(t, s.cache.Update(made("changed", strconv.Itoa(n), n)))
		must(t, s.cache.Update(made("deleted", "of-"+strconv.Itoa(n), n)))
		must(t, s.cache.Delete(made("deleted", "of-"+strconv.Itoa(n), n)))
		item := made("changed", "pending-"+strconv.Itoa(n), n)
		s.record(&pendingWrite{key: item.key, item: item})
	}
	if got := len(s.cache.byReqID); got != 1 {
		t.Errorf("the cache knows %d request ids of one object", got)
	}
	if got := len(s.pending.byKey); got != 1 {
		t.Errorf("%d writes are pending for one object", got)
	}
}

// The change log is bounded by the bytes that it keeps from being freed, not by its length alone.
func TestChangeLogIsBoundedInBytes(t *testing.T) {
	large := func(rv int) *Item {
		return itemOf(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "1", ResourceVersion: strconv.Itoa(rv)},
			Data:       map[string]string{"large": strings.Repeat("x", 10_000)},
		})
	}
	s := newTestStore(t, Options{LogBytes: 100_000}, large(1))
	for n := range 1000 {
		must(t, s.cache.Update(large(101+n)))
		held := 0
		for i := range s.cache.log {
			held += s.cache.log[i].size()
		}
		if held > 100_000 || held != s.cache.logBytes || len(s.cache.log) == 0 {
			t.Fatalf("after %d changes the log has %d changes and %d bytes (counted %d)", n+1, len(s.cache.log), held, s.cache.logBytes)
		}
	}
}

// Once per item, not per comparison: with as many values as comparisons a list of 1,000 took most of its time formatting times.
func TestOrderComputesPlacesOnce(t *testing.T) {
	var objs []any
	for n := range 1000 {
		objs = append(objs, configMap("a", strconv.Itoa(n), n+1))
	}
	s := newTestStore(t, Options{}, objs...)
	order, err := ParseOrder("create_time desc, state")
	must(t, err)
	items, _, err := s.snapshot(t.Context(), "", ReadOptions{})
	must(t, err)
	allocations := testing.AllocsPerRun(3, func() { s.places(items, order) })
	if perItem := allocations / 1000; perItem > 10 {
		t.Errorf("%.1f allocations per item", perItem)
	}
}

func TestParseItem(t *testing.T) {
	item, err := ParseItem([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"1","managedFields":[{"manager":"x"}],"annotations":{"` +
		lastAppliedAnnotation + `":"{}","kept":"yes"},"resourceVersion":"7"},"unknown":{"b":1,"a":[1.50,12345678901234567890]}}`))
	must(t, err)
	if diff := cmp.Diff(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"1","annotations":{"kept":"yes"},"resourceVersion":"7"},"unknown":{"b":1,"a":[1.50,12345678901234567890]}}`, string(item.JSON())); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	if item.rv != 7 || item.Kind != "ConfigMap" || item.ManagedFields != nil || len(item.Annotations) != 1 {
		t.Errorf("got %+v", item)
	}
	for _, bad := range []string{"", "null", "[]", "{}", `{"metadata":null}`, `{"metadata":{"name":7}}`, `{"metadata":{}`} {
		if _, err := ParseItem([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// FuzzParseItem: what comes from the API server breaks nothing, and what is read can be read again the same.
func FuzzParseItem(f *testing.F) {
	f.Add([]byte(`{"metadata":{"name":"a","annotations":{"b":"c"}},"spec":{"x":[1,{}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		item, err := ParseItem(data)
		if err != nil {
			return
		}
		again, err := ParseItem(item.JSON())
		if err != nil || !bytes.Equal(item.JSON(), again.JSON()) {
			t.Errorf("%q becomes %q: %v", item.JSON(), again.JSON(), err)
		}
	})
}

// FuzzTokens: tokens from anyone are refused and break nothing.
func FuzzTokens(f *testing.F) {
	f.Add("w1.2s", "")
	f.Add(resumePrefix, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	s := New(configMaps, Options{})
	f.Fuzz(func(t *testing.T, resume, page string) {
		if err := s.opts.Tokens.Open(page, "query", new(pageCursor)); err == nil {
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

// A cache that was never filled is as old as itself, and not as time.
func TestAgeOfACacheThatWasNeverFilled(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Unix(1e9, 0))
	s := New(configMaps, Options{Clock: clock})
	clock.Step(3 * time.Second)
	s.cache.contact(errors.New("connection refused"))
	if got := s.Age(); got != 3*time.Second {
		t.Errorf("age %s, want 3s", got)
	}
}

// A page token goes by the time on the wall, since another replica may read it: when that is set forward it has expired and says so; when it is set
// back it works.
func TestPageTokensWhenTheClockJumps(t *testing.T) {
	for jump, want := range map[time.Duration]error{-24 * time.Hour: nil, 24 * time.Hour: ErrPageTokenExpired} {
		clock := testingclock.NewFakeClock(time.Unix(1e9, 0))
		s := newTestStore(t, Options{Clock: clock}, configMap("a", "one", 1), configMap("a", "two", 2))
		page, err := s.List(t.Context(), ListOptions{PageSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		clock.SetTime(clock.Now().Add(jump))
		if _, err := s.List(t.Context(), ListOptions{PageSize: 1, PageToken: page.NextPageToken}); !errors.Is(err, want) {
			t.Errorf("after %s: %v, want %v", jump, err, want)
		}
	}
}

// However long the API server was away, the cache looks for it every few seconds.
func TestReconnect(t *testing.T) {
	for attempt, b := 0, reconnect; attempt < 1000; attempt++ {
		if d := b.Step(); d > 10*time.Second || d < 500*time.Millisecond {
			t.Fatalf("attempt %d comes after %s", attempt, d)
		}
	}
}

// An API server that never answers a comparison is unavailable. The time limit of the comparison is not a deadline of the reader.
func TestComparisonWithoutAnAnswer(t *testing.T) {
	client := &restfake.RESTClient{
		NegotiatedSerializer: serializer.NewCodecFactory(NewScheme(configMaps.GroupVersionKind)).WithoutConversion(), GroupVersion: corev1.SchemeGroupVersion,
		Client: restfake.CreateHTTPClient(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}),
	}
	synctest.Test(t, func(t *testing.T) {
		s := newTestStore(t, Options{Reader: client})
		if _, err := s.List(t.Context(), ListOptions{Selection: Selection{ReadOptions: ReadOptions{MinVersion: "101"}}}); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("got %v", err)
		}
	})
}

// The first callers of a replica that has just started wait until its cache is filled, but not for ever.
func TestReadsWaitForTheFirstFill(t *testing.T) {
	for name, filled := range map[string]bool{"filled": true, "not filled": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Kind{Resource: "configmaps"}, Options{})
				if filled {
					go func() {
						time.Sleep(3 * time.Second)
						_ = s.cache.Replace([]any{configMap("a", "b", 5)}, "5")
					}()
				}
				item, err := s.Get(t.Context(), types.NamespacedName{Namespace: "a", Name: "b"}, ReadOptions{})
				if filled && (err != nil || item.Name != "b") || !filled && !errors.Is(err, ErrNotSynced) {
					t.Errorf("got %v, %v", item, err)
				}
				synctest.Wait()
			})
		})
	}
}
