package raycluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func objectKey(o *corev1.Pod) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}
}

// nameHead replaces the generated name of the head Pod by a fixed one of the same form. With it two heads of one cluster
// are impossible, whatever crashes, lags or is elected twice: the API server refuses the second. A replacement waits until
// the old head is gone, which the plan demands anyway. The suffix comes from the UID and keeps clusters apart whose names
// are cut to the same prefix.
func nameHead(p *corev1.Pod, rc *rayv1.RayCluster) {
	if p.Name == "" {
		p.Name, p.GenerateName = p.GenerateName+suffix(rc.UID), ""
	}
}

// suffixLetters are those of suffixes that the API server generates: no vowels, no digits that look like letters.
const suffixLetters = "bcdfghjklmnpqrstvwxz2456789"

func suffix(uid types.UID) string {
	sum := sha256.Sum256([]byte(uid))
	s := make([]byte, 5)
	for i := range s {
		s[i] = suffixLetters[int(sum[i])%len(suffixLetters)]
	}
	return string(s)
}

// steady is the text of an error about a Pod with a generated name, without the part that differs from one attempt to the
// next: a condition that changed with every retry would be written with every retry. An empty prefix is that of a fixed name.
func steady(err error, prefix string) string {
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		if d := status.Status().Details; prefix != "" && d != nil && strings.HasPrefix(d.Name, prefix) {
			text = strings.ReplaceAll(text, d.Name, prefix+"*")
		}
	}
	return usedQuota.ReplaceAllString(text, ", limited: ")
}

// usedQuota is what the refusal by a quota says about what is used, which is another amount each time.
var usedQuota = regexp.MustCompile(`, used: [^:]*, limited: `)

// unreachable reports whether the error says nothing about the request, but that the API server could not be asked: it is
// down, overloaded, or this process is about to end. There is nothing for the user to mend.
func unreachable(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err)
}

// joinFailures makes one failure of many: sorted, without repeats, so that the order in which parallel requests fail does
// not show. The reason is that of the head if it is among them.
func joinFailures(list []failure) *failure {
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b failure) int {
		if c := rank(a) - rank(b); c != 0 {
			return c
		}
		return strings.Compare(a.message, b.message)
	})
	list = slices.Compact(list)
	messages := make([]string, len(list))
	for i, f := range list {
		messages[i] = f.message
	}
	return &failure{reason: list[0].reason, message: strings.Join(messages, "; "), event: list[0].event}
}

// rank puts first what has to work first; reasons that are not listed come before those of Pods.
func rank(f failure) int {
	return slices.Index([]string{
		rayv1.ReasonFailedDeleteAllPods,
		rayv1.ReasonFailedCreateHeadPod,
		rayv1.ReasonFailedDeleteHeadPod,
		rayv1.ReasonFailedCreateWorkerPod,
		rayv1.ReasonFailedDeleteWorkerPod,
	}, f.reason)
}
