package main

import (
	"crypto/hmac"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func parse(t *testing.T, args ...string) (*Options, *pflag.FlagSet) {
	t.Helper()
	o, fs := NewOptions(), pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o, fs
}

func TestValidate(t *testing.T) {
	tls := []string{"--tls-cert-file=c", "--tls-private-key-file=k"}
	for name, tc := range map[string]struct {
		args []string
		want string // a part of the error; empty means that there is none
	}{
		"defaults":                    {nil, ""},
		"none, beyond this machine":   {[]string{"--authentication=none"}, "insecure-allow-remote-none"},
		"none, meant":                 {[]string{"--authentication=none", "--insecure-allow-remote-none"}, ""},
		"none, on loopback":           {[]string{"--authentication=none", "--grpc-address=127.0.0.1:1", "--http-address=localhost:2"}, ""},
		"unknown mode":                {[]string{"--authentication=magic"}, "use passthrough, impersonate or none"},
		"impersonate without TLS":     {[]string{"--authentication=impersonate"}, "--client-ca-file"},
		"impersonate without CA":      {append([]string{"--authentication=impersonate"}, tls...), "--client-ca-file"},
		"impersonate":                 {append([]string{"--authentication=impersonate", "--client-ca-file=ca"}, tls...), ""},
		"impersonate by proxy":        {append([]string{"--authentication=impersonate", "--requestheader-client-ca-file=ca"}, tls...), ""},
		"impersonate by tokens":       {[]string{"--authentication=impersonate", "--authentication-config=x"}, ""},
		"impersonate by audiences":    {[]string{"--authentication=impersonate", "--token-audiences=raygate"}, ""},
		"audiences, but passthrough":  {[]string{"--token-audiences=raygate"}, "--token-audiences"},
		"tokens, but passthrough":     {[]string{"--authentication-config=x"}, "--authentication-config"},
		"proxy, but passthrough":      {append([]string{"--requestheader-client-ca-file=ca"}, tls...), "--authentication=impersonate"},
		"client CA without TLS":       {[]string{"--client-ca-file=ca"}, "need --tls-cert-file"},
		"certificate without key":     {[]string{"--tls-cert-file=c"}, "go together"},
		"no namespace":                {[]string{"--namespaces=a,B_"}, `"B_" is not a namespace`},
		"namespaces":                  {[]string{"--namespaces=a,b"}, ""},
		"V1, unknown mode":            {[]string{"--v1-authentication=magic"}, "use passthrough, static-token or none"},
		"V1, nobody to act as":        {[]string{"--v1-authentication=none", "--insecure-allow-remote-none"}, "--v1-service-account=namespace/name"},
		"V1, no token":                {[]string{"--v1-authentication=static-token", "--v1-service-account=a/b", "--insecure-allow-remote-none"}, "--v1-token-file"},
		"V1, beyond this machine":     {[]string{"--v1-authentication=none", "--v1-service-account=a/b"}, "share the rights of a/b"},
		"V1, meant":                   {[]string{"--v1-authentication=none", "--v1-service-account=a/b", "--insecure-allow-remote-none"}, ""},
		"V1, on loopback":             {[]string{"--v1-authentication=none", "--v1-service-account=a/b", "--grpc-address=127.0.0.1:1", "--http-address=127.0.0.1:2"}, ""},
		"V1, switched off":            {[]string{"--v1-authentication=none", "--enable-v1=false"}, ""},
		"connections of negative age": {[]string{"--max-connection-age=-1s"}, "--max-connection-age"},
		"no time for calls":           {[]string{"--call-timeout=0s"}, "--call-timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := parse(t, tc.args...)
			err := o.Validate()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestTokensInTheClear(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"defaults":     {nil, []string{":8887", ":8888"}},
		"on loopback":  {[]string{"--grpc-address=127.0.0.1:1", "--http-address=[::1]:2"}, nil},
		"one of them":  {[]string{"--grpc-address=127.0.0.1:1", "--http-address=0.0.0.0:2"}, []string{"0.0.0.0:2"}},
		"without REST": {[]string{"--grpc-address=localhost:1", "--http-address="}, nil},
		"with TLS":     {[]string{"--tls-cert-file=c", "--tls-private-key-file=k"}, nil},
		"no tokens":    {[]string{"--authentication=none"}, nil},
	} {
		o, _ := parse(t, tc.args...)
		if diff := cmp.Diff(tc.want, o.inTheClear()); diff != "" && len(tc.want)+len(o.inTheClear()) > 0 {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Replicas that share a TLS key understand each other's page tokens, and the key cannot be had from the secret of the tokens.
func TestPageTokenKeyComesFromTheTLSKey(t *testing.T) {
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	for path, text := range map[string]string{
		kubeconfig:                "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\ncontexts: [{name: a, context: {cluster: a, user: ''}}]\ncurrent-context: a\n",
		filepath.Join(dir, "one"): "key one", filepath.Join(dir, "two"): "key two",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := func(file string) []byte {
		o, fs := parse(t, "--kubeconfig="+kubeconfig, "--tls-cert-file=c", "--tls-private-key-file="+filepath.Join(dir, file))
		if err := o.Complete(fs); err != nil {
			t.Fatal(err)
		}
		return o.pageTokenKeys[0]
	}
	if one := key("one"); len(one) < 32 || !hmac.Equal(one, key("one")) || hmac.Equal(one, key("two")) || strings.Contains(string(one), "key one") {
		t.Errorf("the key is %q", one)
	}
	o, fs := parse(t, "--kubeconfig="+kubeconfig)
	if err := o.Complete(fs); err != nil || o.pageTokenKeys != nil {
		t.Errorf("without TLS the key is %q, %v", o.pageTokenKeys, err)
	}
}

// Replicas that start together get the same key, which the first of them makes; what a person adds is taken, too.
func TestKeysInASecret(t *testing.T) {
	env := shared.Env(t)
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	secrets := kube.CoreV1().Secrets("default")
	_, err = secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "page-tokens"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	keys := func() []string {
		o := &Options{PageTokenSecret: "default/page-tokens", pageTokenKeys: [][]byte{[]byte("of a file")}}
		if err := o.addPageTokenSecret(t.Context(), kube.CoreV1().RESTClient()); err != nil {
			t.Error(err)
		}
		var texts []string
		for _, key := range o.pageTokenKeys {
			texts = append(texts, string(key))
		}
		return texts
	}
	var replicas [4][]string
	var all sync.WaitGroup
	for i := range replicas {
		all.Go(func() { replicas[i] = keys() })
	}
	all.Wait()
	for _, got := range replicas {
		if len(got) != 2 || len(got[0]) != 32 || !slices.Equal(got, replicas[0]) {
			t.Fatalf("replicas have the keys %q", replicas)
		}
	}
	secret, err := secrets.Get(t.Context(), "page-tokens", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	added := strings.Repeat("n", 32)
	secret.Data["another"] = []byte(added)
	if secret, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := keys(); !slices.Equal(got, []string{replicas[0][0], added, "of a file"}) {
		t.Errorf("with another key: %q", got)
	}
	secret.Data["another"] = []byte("short")
	if _, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	o := &Options{PageTokenSecret: "default/page-tokens"}
	if err := o.addPageTokenSecret(t.Context(), kube.CoreV1().RESTClient()); err == nil || !strings.Contains(err.Error(), "another has 5 bytes") {
		t.Errorf("a short key: %v", err)
	}
}
