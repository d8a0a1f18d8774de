package v2

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/reverseproxy"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Routes of uploads in metrics and logs.
const (
	packageRoute        = Prefix + "namespaces/{namespace}/packages/{package_name}"
	clusterPackageRoute = Prefix + "namespaces/{namespace}/clusters/{cluster}/packages/{package_name}"
)

// servedPackage stores a package in a cluster, or for a RayJob with a cluster of its own. Its body is the package, so it is no method of the protos.
// Browsers cannot send it to Ray's dashboard, which refuses them. False means that the request is another one.
func (a *API) servedPackage(w http.ResponseWriter, r *http.Request) bool {
	below, ok := strings.CutPrefix(r.URL.Path, Prefix+"namespaces/")
	if !ok || r.Method != http.MethodPut {
		return false
	}
	parts := strings.Split(below, "/")
	req := &raygatev2.UploadPackageRequest{Namespace: parts[0], JobName: r.URL.Query().Get("jobName"), Size: r.ContentLength}
	to := dashboardRequest{route: packageRoute, cluster: types.NamespacedName{Namespace: req.GetNamespace(), Name: req.GetJobName()}}
	switch {
	case len(parts) == 3 && parts[1] == "packages":
	case len(parts) == 5 && parts[1] == "clusters" && parts[3] == "packages":
		req.Cluster = parts[2]
		to.route, to.cluster.Name = clusterPackageRoute, req.GetCluster()
	default:
		return false
	}
	req.PackageName = parts[len(parts)-1]
	to.path = rpcstatus.Quoted(req.GetPackageName())
	a.passOn(w, r, to, func(r *http.Request) error {
		if r.ContentLength > reverseproxy.MaxBody {
			return rpcstatus.BadField("size", "%d exceeds %d, the largest package that REST accepts: use gRPC", r.ContentLength, reverseproxy.MaxBody)
		}
		reverseproxy.LimitBody(w, r)
		uri, err := a.Package(r.Context(), req, wholeBody{r.Body})
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", typeJSON)
		_ = json.NewEncoder(w).Encode(map[string]string{"uri": uri})
		return nil
	})
	return true
}

// wholeBody is a body whose early end is the mistake of the client.
type wholeBody struct{ io.Reader }

// Read implements io.Reader.
func (b wholeBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = rest.ErrBodyIncomplete
	}
	return n, err
}
