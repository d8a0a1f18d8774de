package resource

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// dashboardTime bounds the one question to a dashboard.
const dashboardTime = 3 * time.Second

// checkDashboard finds a dashboard that does not answer although its head is ready; without it no job is submitted and no service deployed.
func (e *evidence) checkDashboard() {
	service := e.cluster.Status.Head.ServiceName
	if service == "" || e.item.DeletionTimestamp != nil || e.dashboard == nil {
		return
	}
	if !slices.ContainsFunc(e.pods, func(p corev1.Pod) bool { return isHead(&p) && isReady(&p) }) {
		return
	}
	if err := e.dashboard(service); err != nil {
		e.about("Service", service).add(severityWarning, "DashboardUnreachable", "see the log of the head's Ray container, and network policies", "the dashboard behind Service %s does not answer: %v", service, err)
	}
}

// askDashboard requests the version of a dashboard through the API server with the caller's rights. A refusal by the dashboard means that
// it runs. If the caller may not use the proxy, nothing is reported.
func (r *Resource) askDashboard(ctx context.Context, namespace, service string) error {
	ctx, cancel := context.WithTimeout(ctx, dashboardTime)
	defer cancel()
	err := r.Core.Get().Namespace(namespace).Resource("services").Name(service+":dashboard").SubResource("proxy").Suffix("api", "version").
		MaxRetries(0).Do(ctx).Error()
	var answered apierrors.APIStatus
	if errors.As(err, &answered) && answered.Status().Code < http.StatusInternalServerError && !apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
