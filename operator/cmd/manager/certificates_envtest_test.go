package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/webhook/certs"
)

// certificateKey is the Secret that the Pods of the operator mount.
var certificateKey = client.ObjectKey{Namespace: systemNamespace, Name: "raygate-webhook-cert"}

// TestDeletedCertificateSecret deletes the Secret of self-managed certificates while a replica serves, and once more just before the next one
// starts. The rights are those of the overlay.
func TestDeletedCertificateSecret(t *testing.T) {
	ctx, env, c, must := installed(t, 8*time.Minute)
	lb := newBalancer(t)
	installWebhooks(ctx, t, c, lb.port(), selfManagedObjects(t)...)
	insist(ctx, t, c)
	kubeconfig := operatorKubeconfig(ctx, t, env, c)
	first := startReplica(ctx, t, c, kubeconfig, selfManaged...)
	lb.add(first.port)
	rc := raytest.RayCluster("default/without-secret", raytest.Workers("cpu", 0))
	rc.UID, rc.Generation = "", 0
	rc.Spec.WorkerGroupSpecs[0].NumOfHosts = 2
	eventually(ctx, t, "the webhooks to answer", func() bool { return client.IgnoreAlreadyExists(c.Create(ctx, rc.DeepCopy())) == nil })
	t.Cleanup(func() { _ = c.Delete(context.Background(), rc) })
	eventually(ctx, t, "v1alpha1 to be answered", func() bool { return readOld(ctx, c, rc.Name) == nil })

	load := startLoad(ctx, c, rc.Name, answered500)
	load.more(ctx, t, 10)
	var before, after corev1.Secret
	must(c.Get(ctx, certificateKey, &before))
	must(c.Delete(ctx, &before))
	eventually(ctx, t, "another Secret with a certificate", func() bool {
		return c.Get(ctx, certificateKey, &after) == nil && after.UID != before.UID && len(after.Data["tls.crt"]) > 0
	})
	eventually(ctx, t, "the CA of both everywhere", func() bool {
		for _, bundle := range caBundles(ctx, t, c) {
			if !bytes.Contains(bundle, firstPEM(before.Data["ca.crt"])) || !bytes.Contains(bundle, firstPEM(after.Data["ca.crt"])) {
				return false
			}
		}
		return true
	})
	load.more(ctx, t, 10)
	want, _ := pem.Decode(after.Data["tls.crt"])
	bundle := caBundles(ctx, t, c)[certs.CRDs[0]]
	eventually(ctx, t, "the replica to serve the new certificate", func() bool { return servedBy(t, first, bundle) == string(want.Bytes) })
	load.more(ctx, t, 10)
	if failed := load.stop(); len(failed) > 0 {
		t.Errorf("%d requests of %d were answered with 500, the first with %v", len(failed), load.done.Load(), failed[0])
	}

	lb.remove(first.port)
	must(first.cmd.Process.Kill())
	<-first.ended
	must(c.Delete(ctx, &after))
	second := startReplica(ctx, t, c, kubeconfig, selfManaged...)
	lb.add(second.port)
	eventually(ctx, t, "v1alpha1 to be answered after a restart without the Secret", func() bool { return readOld(ctx, c, rc.Name) == nil })
	must(c.Patch(ctx, rc, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"after":"restart"}}}`))))
	must(second.cmd.Process.Kill())
	<-second.ended
}

func firstPEM(bundle []byte) []byte {
	block, _ := pem.Decode(bundle)
	return bytes.TrimSpace(pem.EncodeToMemory(block))
}

// answered500 is true of a request that the API server could not answer.
func answered500(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && status.Status().Code >= 500
}

// insist makes the API server answer 500 when a webhook cannot be called, instead of letting the object pass.
func insist(ctx context.Context, t *testing.T, c client.Client) {
	t.Helper()
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "raygate-validating-webhook"}}
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "raygate-mutating-webhook"}}
	for _, config := range []client.Object{validating, mutating} {
		if err := c.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
			t.Fatal(err)
		}
		for i := range validating.Webhooks {
			validating.Webhooks[i].FailurePolicy, validating.Webhooks[i].TimeoutSeconds = new(admissionregistrationv1.Fail), new(int32(30))
		}
		for i := range mutating.Webhooks {
			mutating.Webhooks[i].FailurePolicy, mutating.Webhooks[i].TimeoutSeconds = new(admissionregistrationv1.Fail), new(int32(30))
		}
		if err := c.Update(ctx, config); err != nil {
			t.Fatal(err)
		}
	}
}
