package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/raygate/raygate/operator/internal/webhook"
)

// namespaceFile contains the namespace of the Pod; the kubelet mounts it.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// WebhookOptions configure the webhook server. They apply only if Options.Webhooks is set.
type WebhookOptions struct {
	// Port of the server.
	Port int
	// CertDir contains tls.crt and tls.key. Changed files are reloaded.
	CertDir string
	// Stage is the name of a webhook.Stage.
	Stage string
	stage webhook.Stage
	// SelfManaged creates and renews the certificate. Otherwise another program has to write it to CertDir.
	SelfManaged bool
	// Namespace is the namespace of the operator; empty means the namespace of its Pod.
	Namespace string
	// RefuseGroupRemoval rejects updates that remove a worker group from a RayCluster.
	RefuseGroupRemoval bool
	// Service, Secret and the two configurations are object names for SelfManaged.
	Service, Secret, ValidatingConfiguration, MutatingConfiguration string
}

func newWebhookOptions() WebhookOptions {
	return WebhookOptions{
		Port:                    9443,
		Stage:                   string(webhook.StageEnforce),
		CertDir:                 "/tmp/k8s-webhook-server/serving-certs",
		Service:                 "raygate-webhook",
		Secret:                  "raygate-webhook-cert",
		ValidatingConfiguration: "raygate-validating-webhook",
		MutatingConfiguration:   "raygate-mutating-webhook",
	}
}

func (w *WebhookOptions) addFlags(fs *pflag.FlagSet, enabled *bool) {
	fs.BoolVar(enabled, "enable-webhooks", *enabled, "Serve the admission and conversion webhooks. Unset: the environment variable ENABLE_WEBHOOKS, which must be exactly true.")
	fs.IntVar(&w.Port, "webhook-port", w.Port, "Port of the webhooks.")
	fs.StringVar(&w.CertDir, "webhook-cert-dir", w.CertDir, "Folder with tls.crt and tls.key of the webhooks. Changed files are reloaded.")
	fs.StringVar(&w.Stage, "webhook-stage", w.Stage, "Response to an object that breaks a rule. Enforce: refuse it. Warn: admit it with a warning. Audit: admit it, and report the rule in metrics and the audit log only.")
	fs.BoolVar(&w.SelfManaged, "webhook-self-managed-certs", w.SelfManaged, "Create and renew the certificate of the webhooks in the Secret that is mounted at --webhook-cert-dir, and write the CA into the webhook configurations and CRDs. Unset: cert-manager or an administrator does this.")
	fs.StringVar(&w.Namespace, "webhook-namespace", w.Namespace, "Namespace of the Service and the Secret of the webhooks. Unset: the namespace of the Pod.")
	fs.BoolVar(&w.RefuseGroupRemoval, "webhook-refuse-group-removal", w.RefuseGroupRemoval, "Refuse the removal of a worker group whose Pods would stay, in place of a warning (RC-552).")
	fs.StringVar(&w.Service, "webhook-service", w.Service, "Service of the webhooks.")
	fs.StringVar(&w.Secret, "webhook-secret", w.Secret, "Secret with the certificate of the webhooks.")
	fs.StringVar(&w.ValidatingConfiguration, "webhook-validating-configuration", w.ValidatingConfiguration, "ValidatingWebhookConfiguration that gets the CA.")
	fs.StringVar(&w.MutatingConfiguration, "webhook-mutating-configuration", w.MutatingConfiguration, "MutatingWebhookConfiguration that gets the CA.")
}

// complete reads the namespace of the Pod if SelfManaged needs it.
func (w *WebhookOptions) complete() {
	if w.Namespace != "" || !w.SelfManaged {
		return
	}
	if data, err := os.ReadFile(namespaceFile); err == nil {
		w.Namespace = strings.TrimSpace(string(data))
	}
}

func (w *WebhookOptions) validate() []error {
	var errs []error
	var err error
	if w.stage, err = webhook.ParseStage(w.Stage); err != nil {
		errs = append(errs, fmt.Errorf("--webhook-stage is %w", err))
	}
	if w.Port < 1 || w.Port > 65535 {
		errs = append(errs, fmt.Errorf("--webhook-port is %d, but must be from 1 to 65535", w.Port))
	}
	if w.CertDir == "" {
		errs = append(errs, fmt.Errorf("--webhook-cert-dir is empty, but must be the folder with tls.crt and tls.key"))
	}
	if !w.SelfManaged {
		return errs
	}
	if w.Namespace == "" {
		errs = append(errs, fmt.Errorf("--webhook-namespace is not set, and there is no Pod to take it from; --webhook-self-managed-certs needs it"))
	}
	for flag, name := range map[string]string{
		"--webhook-service": w.Service, "--webhook-secret": w.Secret,
		"--webhook-validating-configuration": w.ValidatingConfiguration, "--webhook-mutating-configuration": w.MutatingConfiguration,
	} {
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("%s is %q: %s", flag, name, strings.Join(problems, "; ")))
		}
	}
	return errs
}
