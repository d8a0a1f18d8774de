package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/operator/internal/controller/rayjob"
	"github.com/raygate/raygate/operator/internal/dashboards"
)

func TestSettingsReachTheControllerOfJobs(t *testing.T) {
	env := func(name, value string) map[string]string { return map[string]string{name: value} }
	cases := map[string]struct {
		env  map[string]string
		args []string
		read func(rayjob.Config) bool
		want bool // with the setting; the opposite without
	}{
		"self":           {env: env("DELETE_RAYJOB_CR_AFTER_JOB_FINISHES", "true"), read: func(c rayjob.Config) bool { return c.DeleteJob }, want: true},
		"grace":          {env: env("RAYJOB_DEPLOYMENT_STATUS_TRANSITION_GRACE_PERIOD_SECONDS", "7"), read: func(c rayjob.Config) bool { return c.Limits.Transition == 7*time.Second }, want: true},
		"status checks":  {env: env("RAYJOB_STATUS_CHECK_TIMEOUT_SECONDS", "8"), read: func(c rayjob.Config) bool { return c.Limits.StatusCheck == 8*time.Second }, want: true},
		"submitter":      {env: env("RAYJOB_SUBMITTER_FINISHED_TIMEOUT_SECONDS", "30"), read: func(c rayjob.Config) bool { return c.Limits.SubmitterFinished == 30*time.Second }, want: true},
		"login shell":    {env: env("ENABLE_LOGIN_SHELL", "true"), read: func(c rayjob.Config) bool { return c.Pod.LoginShell }, want: true},
		"head Service":   {env: env("ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE", "true"), read: func(c rayjob.Config) bool { return c.Service.HeadClusterIP }, want: true},
		"deletion rules": {args: []string{"--feature-gates=RayJobDeletionPolicy=false"}, read: func(c rayjob.Config) bool { return c.IgnoreDeletionStrategy }, want: true},
		"restarts":       {args: []string{"--feature-gates=SidecarSubmitterRestart=true"}, read: func(c rayjob.Config) bool { return c.SubmitterRestart }, want: true},
		"scheduler":      {args: []string{"--batch-scheduler=volcano"}, read: func(c rayjob.Config) bool { return c.Scheduler != nil }, want: true},
		"rules":          {args: []string{"--batch-scheduler=volcano"}, read: func(c rayjob.Config) bool { return *c.Validation.BatchScheduler == "volcano" }, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for given, want := range map[bool]bool{true: tc.want, false: !tc.want} {
				var args []string
				var variables map[string]string
				if given {
					args, variables = tc.args, tc.env
				}
				o, err := parse(t, args, variables)
				if err != nil {
					t.Fatal(err)
				}
				if got := tc.read(rayJobSettings(o)); got != want {
					t.Errorf("given %t: got %t, want %t", given, got, want)
				}
			}
		})
	}
}

// TestProxyLeadsToDashboards asks for a job as an API server would be asked.
func TestProxyLeadsToDashboards(t *testing.T) {
	var path, authorization, token string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, authorization, token = r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("X-Ray-Authorization")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"status":"RUNNING"}`)
	}))
	defer server.Close()
	o, err := parse(t, []string{"--use-kubernetes-proxy"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Config = &rest.Config{Host: server.URL, BearerToken: "mine"}
	c, err := connect(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := c(dashboards.Address{Namespace: "ns", HostPort: "demo-head-svc.ns.svc.cluster.local:8265"}, "s3cret")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.GetJob(t.Context(), "demo-x"); err != nil {
		t.Fatal(err)
	}
	if path != "/api/v1/namespaces/ns/services/demo-head-svc:8265/proxy/api/jobs/demo-x" || authorization != "Bearer mine" || token != "Bearer s3cret" {
		t.Errorf("asked %s with %q and %q", path, authorization, token)
	}
	for _, bad := range []string{"", "demo", ":8265"} {
		if _, err := c(dashboards.Address{Namespace: "ns", HostPort: bad}, ""); err == nil {
			t.Errorf("connected to %q", bad)
		}
	}
}
