package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAuditLogCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	before := `{"stage":"ResponseComplete","verb":"create","userAgent":"raygate-operator/v1","objectRef":{"resource":"pods","namespace":"ns"},"responseStatus":{"code":201}}`
	after := []string{
		before,
		before,
		`{"stage":"ResponseComplete","verb":"get","userAgent":"raygate-operator/v1","objectRef":{"resource":"rayjobs","apiGroup":"ray.io","subresource":"status","namespace":"ns"},"responseStatus":{"code":404}}`,
		`{"stage":"ResponseComplete","verb":"create","userAgent":"raygate-operator/v1","objectRef":{"resource":"pods","namespace":"other"},"responseStatus":{"code":201}}`,
		`{"stage":"ResponseStarted","verb":"watch","userAgent":"raygate-operator/v1","objectRef":{"resource":"pods"},"responseStatus":{"code":200}}`,
		`{"stage":"ResponseComplete","verb":"watch","userAgent":"raygate-operator/v1","objectRef":{"resource":"pods"},"responseStatus":{"code":200}}`,
		`{"stage":"ResponseComplete","verb":"watch","userAgent":"raygate-operator/v1","objectRef":{"resource":"pods"},"responseStatus":{"code":410}}`,
		`{"stage":"ResponseComplete","verb":"list","userAgent":"kube-scheduler/v1","objectRef":{"resource":"nodes"},"responseStatus":{"code":200}}`,
		`{"stage":"ResponseComplete","verb":"get","userAgent":"raygate-operator/v1","responseStatus":{"code":200}}`,
		`{"stage":"ResponseComplete","verb":"get","userAgent":"","objectRef":{"resource":"pods","namespace":"ns"},"responseStatus":{"code":200}}`,
		``,
	}
	want := map[audited]int{
		{client: operatorClient, request: request{"create", "pods"}}:                          2,
		{client: operatorClient, request: request{"get", "rayjobs.ray.io/status"}, code: 404}: 1,
		{client: operatorClient, request: request{"watch", "pods"}}:                           1,
		{client: operatorClient, request: request{"watch", "pods"}, code: 410}:                1,
		{client: "unknown", request: request{"get", "pods"}}:                                  1,
	}
	if err := os.WriteFile(path, []byte(before+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	log := &auditLog{file}
	defer log.close()
	if err := log.skip(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(before+"\n"+strings.Join(after, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []map[audited]int{want, {}} {
		got, err := log.count("ns")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(audited{}, request{}), cmp.Comparer(maps.Equal[map[audited]int, map[audited]int])); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
	}
}
