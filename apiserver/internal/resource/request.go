package resource

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/grpc/metadata"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// minVersionKey is the metadata key of the newest version that the client has read, at this replica or another.
const minVersionKey = "x-min-resource-version"

func readOptions(ctx context.Context) (store.ReadOptions, error) {
	values := metadata.ValueFromIncomingContext(ctx, minVersionKey)
	if len(values) == 0 {
		return store.ReadOptions{}, nil
	}
	return store.ReadOptions{MinVersion: values[0]}, checkVersion(minVersionKey, values[0])
}

// CheckNamespace refuses invalid namespaces, with which requests to the API server would have another path.
func CheckNamespace(namespace string) error {
	if isLabel(namespace) {
		return nil
	}
	if namespace == "" {
		return rpcstatus.BadField("namespace", "required")
	}
	if bad := validation.IsDNS1123Label(namespace); len(bad) > 0 {
		return rpcstatus.BadField("namespace", "%q is not a namespace: %s", namespace, strings.Join(bad, "; "))
	}
	return nil
}

// isLabel reports whether s is surely a DNS label. A regular expression would take a tenth of the time of a get.
func isLabel(s string) bool {
	if s == "" || len(s) > validation.DNS1123LabelMaxLength || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return false
		}
	}
	return true
}

func checkName(namespace, name string) error {
	if err := CheckNamespace(namespace); err != nil {
		return err
	}
	if isLabel(name) {
		return nil
	}
	if name == "" {
		return rpcstatus.BadField("name", "required")
	}
	if len(name) > validation.DNS1123SubdomainMaxLength {
		return rpcstatus.BadField("name", "must be no more than %d bytes", validation.DNS1123SubdomainMaxLength)
	}
	if bad := validation.IsDNS1123Subdomain(name); len(bad) > 0 {
		return rpcstatus.BadField("name", "%q is not a name: %s", name, strings.Join(bad, "; "))
	}
	return nil
}

// checkVersion refuses invalid versions, for which the API server returns a 5xx, which clients retry.
func checkVersion(path, version string) error {
	if version == "" {
		return nil
	}
	if _, err := strconv.ParseUint(version, 10, 64); err != nil {
		return rpcstatus.BadField(path, "%q is not a version: send the metadata.resourceVersion or the ETag that you read", version)
	}
	return nil
}

// versionOf returns the version that an object must have for a write: that of the etag, or of the body. Empty means any.
func versionOf(etag, body string) (string, error) {
	if etag == "*" {
		etag = ""
	}
	if err := checkVersion("etag", etag); err != nil {
		return "", err
	}
	if err := checkVersion("metadata.resourceVersion", body); err != nil {
		return "", err
	}
	if etag != "" && body != "" && body != etag {
		return "", rpcstatus.BadField("etag", "%q is not the resourceVersion %q of the body: send one of them, or the same in both", etag, body)
	}
	return cmp.Or(etag, body), nil
}

func checkRequestID(id string) error {
	if id == "" {
		return nil
	}
	if _, err := uuid.Parse(id); err != nil || len(id) != 36 {
		return rpcstatus.BadField("request_id", "%q is not a UUID such as 0f3b0c3e-6f5f-4b0e-9f0b-3c1c5d0d7a11", id)
	}
	return nil
}

// parseView returns whether the view is FULL; empty means fallback.
func parseView(view string, fallback bool) (bool, error) {
	switch view {
	case "":
		return fallback, nil
	case "FULL":
		return true, nil
	case "BASIC":
		return false, nil
	}
	return false, rpcstatus.BadField("view", "%q is not a view: use BASIC or FULL", view)
}

// etagOf returns the etag of a request. By REST it may also be in the header If-Match.
func etagOf(ctx context.Context, etag string) (string, error) {
	values := metadata.ValueFromIncomingContext(ctx, "if-match")
	if len(values) == 0 {
		return etag, nil
	}
	header := strings.Trim(strings.TrimPrefix(strings.TrimSpace(strings.Join(values, ",")), "W/"), `"`)
	switch {
	case header == "": // an empty variable in a shell must not turn a write of one version into a write of any
		return "", rpcstatus.BadField("etag", "If-Match is empty: send the ETag that you read, or no such header")
	case header == etag:
		return etag, nil
	case etag != "":
		return "", rpcstatus.BadField("etag", "%q is not %q, which If-Match says: send one of them, or the same in both", etag, header)
	}
	return header, nil
}

// clientName returns the first word of the caller's User-Agent, such as curl. It is the default field manager.
func clientName(ctx context.Context) string {
	for _, value := range metadata.ValueFromIncomingContext(ctx, "user-agent") {
		name, _, _ := strings.Cut(value, "/")
		if name, _, _ = strings.Cut(name, " "); name != "" && checkManager(name) == nil {
			return name
		}
	}
	return store.FieldManager
}

// checkManager refuses field managers that the API server refuses.
func checkManager(name string) error {
	if len(name) > 128 || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c > '~' }) {
		return rpcstatus.BadField("field_manager", "must be printable and no more than 128 bytes")
	}
	return nil
}

// isStale reports whether a write failed because of the version of the object, and not because of the owner of a field.
func isStale(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) {
		return false
	}
	d := status.Status().Details
	return d == nil || len(d.Causes) == 0 || d.Causes[0].Type != metav1.CauseTypeFieldManagerConflict
}
