package validation_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
)

// TestCollectorSettingsInAnyCase is about spellings that CEL leaves to the package.
func TestCollectorSettingsInAnyCase(t *testing.T) {
	for _, tc := range []struct{ backend, mode, want string }{
		{"gCs", "", "RC-083"},
		{"s3", "", "RC-084"},
		{"aZureBlob", " Connection_String ", "RC-085"},
		{"AZUREBLOB", "DEFAULT", "RC-086"},
		{"azureblob", "other", "RC-087"},
		{"aliYunOSS", "", "RC-088"},
		{"mine", "", ""},
	} {
		rc := examples.Base()
		rc.Spec.HistoryServerOptions = &rayv1.HistoryServerOptions{CollectorOptions: &rayv1.CollectorOptions{
			Image: new("collector:1"),
			Env:   []corev1.EnvVar{{Name: "STORAGE_BACKEND", Value: tc.backend}, {Name: "AZURE_STORAGE_AUTH_MODE", Value: tc.mode}},
		}}
		got := ""
		for _, err := range validation.Create(rc, validation.Options{Gates: map[validation.Gate]bool{validation.GateHistoryServer: true}}).Errors {
			got = err.Origin
		}
		if got != tc.want {
			t.Errorf("%s with mode %q breaks %q, want %q", tc.backend, tc.mode, got, tc.want)
		}
	}
}
