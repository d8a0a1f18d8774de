package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/klog/v2"

	"github.com/raygate/raygate/operator/internal/conversion"
)

// maxConversionBody has room for a list of a hundred objects of the maximum size in etcd.
const maxConversionBody = 192 << 20

// converter is the conversion webhook. Reads, lists, garbage collection and namespace deletions depend on it, and no failure
// policy applies. So it fails only for objects that it cannot decode or would destroy.
type converter struct {
	metrics *Metrics
}

// ServeHTTP implements http.Handler. A failed conversion is a response with HTTP status 200; only an invalid ConversionReview gets
// another status.
func (c *converter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review, err := readReview(w, r)
	if err != nil {
		code := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			code = http.StatusRequestEntityTooLarge
		}
		http.Error(w, err.Error(), code)
		return
	}
	response := c.convert(r, review.Request)
	response.UID = review.Request.UID
	review.Request, review.Response = nil, response
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		klog.FromContext(r.Context()).V(2).Info("The API server did not wait for the converted objects", "err", err)
	}
}

func readReview(w http.ResponseWriter, r *http.Request) (*apiextensionsv1.ConversionReview, error) {
	if r.Method != http.MethodPost {
		return nil, errors.New("send a ConversionReview by POST")
	}
	review := &apiextensionsv1.ConversionReview{}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxConversionBody)).Decode(review); err != nil {
		return nil, fmt.Errorf("decoding the ConversionReview: %w", err)
	}
	want := apiextensionsv1.SchemeGroupVersion.WithKind("ConversionReview")
	if got := review.GroupVersionKind(); got != want {
		return nil, fmt.Errorf("this webhook speaks %s of %s, not %s of %s", want.Kind, want.GroupVersion(), got.Kind, got.GroupVersion())
	}
	if review.Request == nil {
		return nil, errors.New("the ConversionReview has no request")
	}
	return review, nil
}

// convert converts all objects or none.
func (c *converter) convert(r *http.Request, request *apiextensionsv1.ConversionRequest) (response *apiextensionsv1.ConversionResponse) {
	defer func() {
		if p := recover(); p != nil {
			klog.FromContext(r.Context()).Error(fmt.Errorf("panic: %v", p), "Conversion failed", "stack", string(debug.Stack()))
			response = c.failure(request, fmt.Errorf("converting to %s: %v", request.DesiredAPIVersion, p))
		}
	}()
	wanted, err := schema.ParseGroupVersion(request.DesiredAPIVersion)
	if err != nil {
		return c.failure(request, fmt.Errorf("reading desiredAPIVersion: %w", err))
	}
	converted := make([]runtime.RawExtension, len(request.Objects))
	for i := range request.Objects {
		if converted[i].Raw, err = convertOne(request.Objects[i].Raw, wanted); err != nil {
			return c.failure(request, err)
		}
	}
	c.metrics.converted(wanted.Version, len(converted), true)
	return &apiextensionsv1.ConversionResponse{
		ConvertedObjects: converted,
		Result:           metav1.Status{Status: metav1.StatusSuccess},
	}
}

func (c *converter) failure(request *apiextensionsv1.ConversionRequest, err error) *apiextensionsv1.ConversionResponse {
	wanted, _ := schema.ParseGroupVersion(request.DesiredAPIVersion)
	c.metrics.converted(wanted.Version, len(request.Objects), false)
	return &apiextensionsv1.ConversionResponse{
		Result: metav1.Status{Status: metav1.StatusFailure, Message: err.Error()},
	}
}

func convertOne(raw []byte, wanted schema.GroupVersion) ([]byte, error) {
	obj := map[string]any{}
	if err := utiljson.Unmarshal(raw, &obj); err != nil {
		return nil, fmt.Errorf("decoding an object to convert to %s: %w", wanted, err)
	}
	if err := conversion.Convert(obj, wanted); err != nil {
		return nil, fmt.Errorf("converting %s to %s: %w", describe(obj), wanted, err)
	}
	out, err := utiljson.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", describe(obj), err)
	}
	return out, nil
}

func describe(obj map[string]any) string {
	u := unstructured.Unstructured{Object: obj}
	return fmt.Sprintf("%s %s/%s", u.GetKind(), u.GetNamespace(), u.GetName())
}
