package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func conversionReview(t testing.TB, h http.Handler, wanted string, objects ...string) *apiextensionsv1.ConversionResponse {
	t.Helper()
	in := apiextensionsv1.ConversionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "ConversionReview"},
		Request:  &apiextensionsv1.ConversionRequest{UID: "the-uid", DesiredAPIVersion: wanted},
	}
	for _, obj := range objects {
		in.Request.Objects = append(in.Request.Objects, raw(t, obj))
	}
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, ConvertPath, bytes.NewReader(body)))
	var out apiextensionsv1.ConversionReview
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("status %d, body %q: %v", w.Code, w.Body, err)
	}
	if w.Code != http.StatusOK || out.TypeMeta != in.TypeMeta || out.Request != nil || out.Response == nil {
		t.Fatalf("status %d, answer %+v", w.Code, out)
	}
	if out.Response.UID != "the-uid" {
		t.Errorf("uid %q is not the request's", out.Response.UID)
	}
	return out.Response
}

// TestGoldenEnvelope is the whole answer, byte for byte in its meaning.
func TestGoldenEnvelope(t *testing.T) {
	hooks, _ := registered(t)
	body := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"705ab4f5","desiredAPIVersion":"ray.io/v1alpha1","objects":[` +
		`{"apiVersion":"ray.io/v1","kind":"RayJob","metadata":{"name":"a","uid":"7","finalizers":["x"],"generation":3},"spec":{"entrypoint":"x","backoffLimit":2}}]}}`
	w := httptest.NewRecorder()
	hooks[ConvertPath].ServeHTTP(w, httptest.NewRequest(http.MethodPost, ConvertPath, strings.NewReader(body)))
	want := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"705ab4f5","result":{"metadata":{},"status":"Success"},"convertedObjects":[` +
		`{"apiVersion":"ray.io/v1alpha1","kind":"RayJob","metadata":{"annotations":{"conversion.ray.io/v1-extra":"{\"$format\":1,\"spec\":{\"backoffLimit\":2}}"},"finalizers":["x"],"generation":3,"name":"a","uid":"7"},"spec":{"entrypoint":"x"}}]}}`
	var wantTree, gotTree any
	if err := json.Unmarshal([]byte(want), &wantTree); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &gotTree); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantTree, gotTree); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
}

// TestOrderOfManyMixedObjects: a list of mixed kinds and versions comes back in its order, whole.
func TestOrderOfManyMixedObjects(t *testing.T) {
	hooks, metrics := registered(t)
	var objects []string
	for i := range 1000 {
		version, kind := []string{"v1", "v1alpha1"}[i%2], []string{"RayCluster", "RayJob", "RayService"}[i/2%3]
		objects = append(objects, fmt.Sprintf(`{"apiVersion":"ray.io/%s","kind":"%s","metadata":{"name":"o","uid":"uid-%d"},"spec":{}}`, version, kind, i))
	}
	got := conversionReview(t, hooks[ConvertPath], "ray.io/v1alpha1", objects...)
	if got.Result.Status != metav1.StatusSuccess || len(got.ConvertedObjects) != len(objects) {
		t.Fatalf("result %+v with %d objects", got.Result, len(got.ConvertedObjects))
	}
	for i, obj := range got.ConvertedObjects {
		var meta metav1.PartialObjectMetadata
		if err := json.Unmarshal(obj.Raw, &meta); err != nil {
			t.Fatal(err)
		}
		if meta.UID != types.UID(fmt.Sprint("uid-", i)) || meta.APIVersion != "ray.io/v1alpha1" {
			t.Fatalf("object %d is %s of %s", i, meta.UID, meta.APIVersion)
		}
	}
	if n := testutil.ToFloat64(metrics.converts.WithLabelValues("v1alpha1", "success")); n != 1000 {
		t.Errorf("%v objects counted, want 1000", n)
	}
}

// TestAllOrNothing: one object that cannot be converted fails them all, with its name and HTTP status 200.
func TestAllOrNothing(t *testing.T) {
	good := `{"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"a"}}`
	cases := map[string]struct{ wanted, bad, want string }{
		"unknown kind":            {"ray.io/v1alpha1", `{"apiVersion":"ray.io/v1","kind":"Pizza","metadata":{"namespace":"n","name":"funghi"}}`, "Pizza n/funghi"},
		"kind of v1 only":         {"ray.io/v1alpha1", `{"apiVersion":"ray.io/v1","kind":"RayCronJob","metadata":{"namespace":"n","name":"nightly"}}`, "RayCronJob n/nightly"},
		"unknown version":         {"ray.io/v1alpha1", `{"apiVersion":"ray.io/v9","kind":"RayJob","metadata":{"name":"b"}}`, "ray.io/v9"},
		"unknown desired version": {"ray.io/v9", good, "ray.io/v9"},
		"no desired version":      {"", good, "known"},
		"silly desired version":   {"a/b/c", good, "desiredAPIVersion"},
		"no object":               {"ray.io/v1alpha1", `7`, "decoding"},
		"incomplete":              {"ray.io/v1", `{"apiVersion":"ray.io/v1alpha1","kind":"RayJob","metadata":{"name":"b","annotations":{"conversion.ray.io/v1-extra":"{\"$format\":1,\"$incomplete\":true}"}}}`, "write it through ray.io/v1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			hooks, metrics := registered(t)
			got := conversionReview(t, hooks[ConvertPath], tc.wanted, good, tc.bad, good)
			if got.Result.Status != metav1.StatusFailure || !strings.Contains(got.Result.Message, tc.want) || len(got.ConvertedObjects) != 0 {
				t.Errorf("result %+v with %d objects, want a failure about %s and none", got.Result, len(got.ConvertedObjects), tc.want)
			}
			if n := testutil.CollectAndCount(metrics.converts); n != 1 {
				t.Errorf("%d series of conversions, want one", n)
			}
		})
	}
}

// TestUnknownReviews: what is no ConversionReview of v1 gets 400 and a reason.
func TestUnknownReviews(t *testing.T) {
	cases := map[string]struct{ method, body, want string }{
		"v1beta1":    {http.MethodPost, `{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"ConversionReview","request":{}}`, "v1beta1"},
		"other kind": {http.MethodPost, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"AdmissionReview","request":{}}`, "AdmissionReview"},
		"no request": {http.MethodPost, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`, "no request"},
		"no JSON":    {http.MethodPost, `<xml>`, "decoding"},
		"empty":      {http.MethodPost, ``, "decoding"},
		"GET":        {http.MethodGet, ``, "POST"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			hooks, _ := registered(t)
			w := httptest.NewRecorder()
			hooks[ConvertPath].ServeHTTP(w, httptest.NewRequest(tc.method, ConvertPath, strings.NewReader(tc.body)))
			if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("status %d %q, want 400 about %s", w.Code, w.Body, tc.want)
			}
		})
	}
}

// TestLargeLists: a hundred objects of 1 MiB pass in one review.
func TestLargeLists(t *testing.T) {
	if testing.Short() {
		t.Skip("converts 100 MiB")
	}
	hooks, _ := registered(t)
	var body bytes.Buffer
	body.WriteString(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"ray.io/v1alpha1","objects":[`)
	big := strings.Repeat("x", 1<<20)
	for i := range 100 {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"apiVersion":"ray.io/v1","kind":"RayService","metadata":{"name":"a"},"spec":{"serveConfigV2":%q}}`, big)
	}
	body.WriteString(`]}}`)
	w := httptest.NewRecorder()
	hooks[ConvertPath].ServeHTTP(w, httptest.NewRequest(http.MethodPost, ConvertPath, &body))
	if w.Code != http.StatusOK || w.Body.Len() < 100<<20 {
		t.Fatalf("status %d with %d bytes", w.Code, w.Body.Len())
	}

	endless := httptest.NewRequest(http.MethodPost, ConvertPath, strings.NewReader(`{"apiVersion":"`+strings.Repeat("x", maxConversionBody)+`"}`))
	w = httptest.NewRecorder()
	hooks[ConvertPath].ServeHTTP(w, endless)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d for a body without end, want 413", w.Code)
	}
}
