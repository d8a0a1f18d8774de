package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestOptions(t *testing.T) {
	cases := map[string]struct {
		args    []string
		env     map[string]string
		check   func(*Options) bool
		wantErr string // part of the text; empty for success
	}{
		"defaults":         {check: func(o *Options) bool { return o.LeaderElect && o.MetricsBindAddress == ":8080" }},
		"flags of our own": {args: []string{"--leader-elect=false", "--metrics-bind-address=127.0.0.1:9"}, check: func(o *Options) bool { return !o.LeaderElect && o.MetricsBindAddress == "127.0.0.1:9" }},
		"flags of KubeRay": {args: []string{"--enable-leader-election=false", "--metrics-addr=0", "--qps=7", "--burst=9"}, check: func(o *Options) bool {
			return !o.LeaderElect && o.MetricsBindAddress == "0" && o.QPS == 7 && o.Burst == 9
		}},
		"environment of KubeRay":    {env: map[string]string{"ENABLE_PROBES_INJECTION": "False", "CLUSTER_DOMAIN": "x.y"}, check: func(o *Options) bool { return o.Pod.NoProbes && o.Pod.ClusterDomain == "x.y" }},
		"namespaces with blanks":    {args: []string{"--watch-namespace=a, b"}, check: func(o *Options) bool { return len(o.WatchNamespaces) == 2 && o.WatchNamespaces[1] == "b" }},
		"a stray comma":             {args: []string{"--watch-namespace=a,"}, wantErr: "--watch-namespace"},
		"no workers":                {args: []string{"--reconcile-concurrency=0"}, wantErr: "--reconcile-concurrency"},
		"an address without port":   {args: []string{"--health-probe-bind-address=localhost"}, wantErr: "--health-probe-bind-address"},
		"an unknown gate":           {args: []string{"--feature-gates=Nope=true"}, wantErr: "Nope"},
		"environment without sense": {env: map[string]string{"ENABLE_LOGIN_SHELL": "maybe"}, wantErr: "ENABLE_LOGIN_SHELL"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := NewOptions()
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			o.AddFlags(fs)
			kubeconfig := t.TempDir() + "/kubeconfig"
			writeKubeconfig(t, kubeconfig)
			err := fs.Parse(append(tc.args, "--kubeconfig="+kubeconfig))
			if err == nil {
				err = o.Complete(func(name string) string { return tc.env[name] })
			}
			if err == nil {
				err = o.Validate()
			}
			switch {
			case tc.wantErr == "" && err != nil:
				t.Fatal(err)
			case tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)):
				t.Fatalf("error %v, want one about %s", err, tc.wantErr)
			case tc.check != nil && !tc.check(o):
				t.Errorf("unexpected options %+v", o)
			}
		})
	}
}

func writeKubeconfig(t *testing.T, path string) {
	t.Helper()
	const text = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
