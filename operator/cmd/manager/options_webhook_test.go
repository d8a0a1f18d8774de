package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestWebhookOptions(t *testing.T) {
	cases := map[string]struct {
		args    []string
		env     map[string]string
		want    bool
		wantErr string // part of the text; empty for success
	}{
		"off by default":            {},
		"KubeRay's switch":          {env: map[string]string{"ENABLE_WEBHOOKS": "true"}, want: true},
		"KubeRay's switch is exact": {env: map[string]string{"ENABLE_WEBHOOKS": "True"}, wantErr: "ENABLE_WEBHOOKS"},
		"the flag":                  {args: []string{"--enable-webhooks"}, want: true},
		"the flag wins":             {args: []string{"--enable-webhooks=false"}, env: map[string]string{"ENABLE_WEBHOOKS": "true"}},
		"no such port":              {args: []string{"--enable-webhooks", "--webhook-port=0"}, wantErr: "--webhook-port"},
		"a port nobody opens":       {args: []string{"--webhook-port=0"}},
		"no such stage":             {args: []string{"--enable-webhooks", "--webhook-stage=Shout"}, wantErr: `--webhook-stage is "Shout"`},
		"a stage":                   {args: []string{"--enable-webhooks", "--webhook-stage=warn"}, want: true},
		"no folder":                 {args: []string{"--enable-webhooks", "--webhook-cert-dir="}, wantErr: "--webhook-cert-dir"},
		"self-managed, nowhere":     {args: []string{"--enable-webhooks", "--webhook-self-managed-certs"}, wantErr: "--webhook-namespace"},
		"self-managed":              {args: []string{"--enable-webhooks", "--webhook-self-managed-certs", "--webhook-namespace=ray"}, want: true},
		"self-managed, misnamed":    {args: []string{"--enable-webhooks", "--webhook-self-managed-certs", "--webhook-namespace=ray", "--webhook-service=A B"}, wantErr: "--webhook-service"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := NewOptions()
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			o.AddFlags(fs)
			kubeconfig := t.TempDir() + "/kubeconfig"
			writeKubeconfig(t, kubeconfig)
			if err := fs.Parse(append(tc.args, "--kubeconfig="+kubeconfig)); err != nil {
				t.Fatal(err)
			}
			err := o.Complete(func(name string) string { return tc.env[name] })
			if err == nil {
				err = o.Validate()
			}
			switch {
			case tc.wantErr == "" && err != nil:
				t.Fatal(err)
			case tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)):
				t.Fatalf("error %v, want one about %s", err, tc.wantErr)
			case tc.wantErr == "" && o.Webhooks != tc.want:
				t.Errorf("webhooks %t, want %t", o.Webhooks, tc.want)
			}
		})
	}
}
