package v2

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/hack/failures"
)

// reasons are where the gateway gives a failure its reason.
var reasons = regexp.MustCompile(`(?:Reason: |\bfull\(|codes\.\w+, )"([A-Z_]+)"`)

// The documents are generated from a list of failures; it says what the gateway answers, and all of it.
func TestFailuresAreThoseDocumented(t *testing.T) {
	a := &API{Options: Options{FlowControl: flowcontrol.New(flowcontrol.Options{Table: rpcstatus.NewTable()})}}
	documented := map[string]bool{}
	for _, f := range failures.All {
		documented[f.Reason] = true
		e := &rpcstatus.Error{Code: f.Code, Reason: f.Reason, Message: "m"}
		if f.Retry {
			e.RetryAfter = time.Second
		}
		w := httptest.NewRecorder()
		a.writeError(w, typeJSON, e)
		want := fmt.Sprint(f.HTTP(), f.Retry, f.Code == codes.Unauthenticated)
		if got := fmt.Sprint(w.Code, w.Header().Get("Retry-After") != "", w.Header().Get("WWW-Authenticate") != ""); got != want {
			t.Errorf("%s: status, Retry-After, WWW-Authenticate are %s, documented are %s", f.Reason, got, want)
		}
		if w.Code == http.StatusOK || f.When == "" || strings.HasSuffix(f.When, ".") {
			t.Errorf("%s: %d, %q", f.Reason, w.Code, f.When)
		}
	}
	found := 0
	err := filepath.WalkDir("../../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range reasons.FindAllSubmatch(source, -1) {
			found++
			if reason := string(match[1]); !documented[reason] {
				t.Errorf("%s: add the reason %s to hack/failures", path, reason)
			}
		}
		return err
	})
	if err != nil || found < 50 {
		t.Errorf("%d reasons found in the sources: %v", found, err)
	}
}
