package podexec

import (
	"context"
	"errors"
	"io"
	"net"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/conditions"
	"github.com/raygate/raygate/operator/internal/podplan"
)

// deleteFailure describes why Pods of the group of d could not be deleted.
func (r *run) deleteFailure(d podplan.Deletion, err error) Failure {
	f := Failure{Reason: rayv1.ReasonFailedDeleteWorkerPod, Message: err.Error(), Refusal: conditions.Refusal(err)}
	switch {
	case r.result.DeletedAll:
		f.Reason = rayv1.ReasonFailedDeleteAllPods
	case d.Group == rayv1.HeadGroupName:
		f.Reason = rayv1.ReasonFailedDeleteHeadPod
	case d.Reason == podplan.ReasonGroupSuspended:
		f.Event = "FailedToDeleteWorkerPodCollection"
	}
	return f
}

// unreachable reports whether the API server did not process the request: it is down or overloaded, or this process is about to
// end.
func unreachable(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err)
}

// steady returns the text of an error about a Pod without the parts that differ between attempts. Otherwise each retry would
// change a condition and cause a status write. prefix is that of a generated name; empty for a fixed one.
func steady(err error, prefix string) string {
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		if d := status.Status().Details; prefix != "" && d != nil && strings.HasPrefix(d.Name, prefix) {
			text = strings.ReplaceAll(text, d.Name, prefix+"*")
		}
	}
	return usedDevices.ReplaceAllString(usedQuota.ReplaceAllString(text, ", limited: "), ", hard $1")
}

// usedQuota matches the used amount in the error of a quota, which differs between attempts.
var usedQuota = regexp.MustCompile(`, used: [^:]*, limited: `)

// usedDevices matches the used amount in the error of device admission.
var usedDevices = regexp.MustCompile(`, in use \d[^\n]*?, hard (\d+(?: MiB)?), exceeds by \d+(?: MiB)?`)
