package names

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func TestNames(t *testing.T) {
	const long = "raycluster-with-a-very-long-name-exceeding-k8s-limit1" // 53 characters, the longest that is valid
	cases := map[string]struct{ got, want string }{
		"a short name stays":                      {Name("demo"), "demo"},
		"a long name keeps its end":               {Name("72fbcc7e-a661-4b18e-ca41-e903-fc3ae634b18e-lazer090scholar-director-s"), "rca41-e903-fc3ae634b18e-lazer090scholar-director-s"},
		"a leading digit becomes r":               {Name("1demo"), "rdemo"},
		"an empty name stays":                     {Name(""), ""},
		"a label value may start with a digit":    {LabelValue("1x"), "1x"},
		"a label value may not start with a dash": {LabelValue("-x"), "rx"},
		"head pod":                                      {HeadPodPrefix("demo"), "demo-head-"},
		"head pod with a deterministic name":            {HeadPod("demo"), "demo-head"},
		"head pod of a long cluster":                    {HeadPodPrefix(long), "raycluster-with-a-very-long-name-exceeding-k8s-lim-head-"},
		"worker pod is lower case":                      {WorkerPodPrefix("demo", "smallGroup"), "demo-smallgroup-worker-"},
		"identifier":                                    {Identifier("demo", rayv1.HeadNode), "demo-head"},
		"service account of a long cluster":             {Role(long), "cluster-with-a-very-long-name-exceeding-k8s-limit1"},
		"clean-up job of a long cluster":                {RedisCleanupJob(long), "luster-with-a-very-long-name-exceeding-k8s-limit1-redis-cleanup"},
		"ingress":                                       {HeadIngress("demo"), "demo-head-ingress"},
		"route":                                         {HeadRoute("demo", "ns"), "demo-head-route"},
		"route keeps the beginning":                     {HeadRoute("2-step-cv-training-network-revisited", "development-namespace"), "r-step-cv-training-network-rev"},
		"route in a namespace that leaves nothing is r": {HeadRoute("demo", strings.Repeat("n", 63)), "r"},
		"policies":                                      {HeadNetworkPolicy("demo") + " " + WorkersNetworkPolicy("demo", "a"), "demo-head demo-workers-a"},
		"services":                                      {ServeService("demo") + " " + HeadlessService("demo"), "demo-serve-svc demo-headless"},
		"claim and secret":                              {GCSClaim("demo") + " " + AuthSecret("demo"), "demo-gcs-pvc demo"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("name (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHeadAddress(t *testing.T) {
	rc := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo"}}
	if want, got := "demo-head-svc.ns.svc.cluster.local:6379", HeadAddress(rc, ""); want != got {
		t.Errorf("address of a plain head: want %s, got %s", want, got)
	}
	rc.Spec.HeadGroupSpec.RayStartParams = map[string]string{"port": "6380"}
	rc.Spec.HeadGroupSpec.HeadService = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}
	if want, got := "mine.ns.svc.corp.example:6380", HeadAddress(rc, "corp.example"); want != got {
		t.Errorf("address with own service, port and domain: want %s, got %s", want, got)
	}
}

func TestCreatorKind(t *testing.T) {
	for label, want := range map[string]string{"": "RayCluster", "RayJob": "RayJob", "RayService": "RayService", "Deployment": "RayCluster"} {
		rc := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{rayv1.LabelOriginatedFromCRD: label}}}
		if got := CreatorKind(rc); got != want {
			t.Errorf("creator for label %q: want %s, got %s", label, want, got)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add("demo", "group")
	f.Add("-", strings.Repeat("é", 80))
	f.Fuzz(func(t *testing.T, cluster, group string) {
		if n := utf8.RuneCountInString(Name(cluster)); n > maxName {
			t.Errorf("name has %d characters", n)
		}
		if n := utf8.RuneCountInString(LabelValue(cluster)); n > maxLabelValue {
			t.Errorf("label value has %d characters", n)
		}
		HeadRoute(cluster, group)
		WorkerPodPrefix(cluster, group)
		HeadPodPrefix(cluster)
	})
}

func TestJobNames(t *testing.T) {
	for _, tc := range []struct{ want, got string }{
		{"demo-x7k2p", Attempt("demo", "x7k2p")},
		{"demo-head-svc", CurrentHeadService("demo")},
	} {
		if tc.got != tc.want {
			t.Errorf("want %s, got %s", tc.want, tc.got)
		}
	}
}
