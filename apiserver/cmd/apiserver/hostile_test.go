package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/programs"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// asGateway is the environment variable that makes the test binary the gateway, with the arguments that it has.
const asGateway = "RAYGATE_TEST_IS_THE_GATEWAY"

const (
	hostileClusters = 200
	slowReaders     = 500
	tenants         = 20
	memoryMiB       = 512
	// hostileTime bounds the attack, answeredTime how long honest callers may try.
	hostileTime  = 15 * time.Second
	answeredTime = 3 * time.Minute // a machine with much other work is slow
)

// kubernetesOfTenants is an API server that knows everybody by their token and allows everything. It has the clusters of hostile tenants, and behind its
// Service proxy their dashboards, which answer without an end.
type kubernetesOfTenants struct{}

func (kubernetesOfTenants) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	answer := func(code int, o object) { w.WriteHeader(code); _ = json.NewEncoder(w).Encode(o) }
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/selfsubjectreviews"):
		answer(201, object{"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "status": object{"userInfo": object{"username": strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}}})
	case strings.HasSuffix(path, "/selfsubjectaccessreviews"):
		answer(201, object{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": object{"allowed": true}})
	case strings.Contains(path, "/proxy/"):
		hostileDashboard(w, path)
	case r.URL.Query().Get("sendInitialEvents") != "":
		answer(422, object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422})
	case r.URL.Query().Get("watch") != "":
		w.WriteHeader(200)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		var items []object
		if strings.HasSuffix(path, "/rayclusters") {
			for n := range hostileClusters {
				items = append(items, clusterOfTenant(n))
			}
		}
		kind := map[string]string{"rayclusters": "RayCluster", "rayjobs": "RayJob", "rayservices": "RayService", "raycronjobs": "RayCronJob"}[filepath.Base(path)]
		answer(200, object{"kind": kind + "List", "apiVersion": "ray.io/v1", "metadata": object{"resourceVersion": "1000"}, "items": items})
	}
}

func clusterOfTenant(n int) object {
	name := fmt.Sprintf("evil-%d", n)
	return object{
		"apiVersion": "ray.io/v1", "kind": "RayCluster",
		"metadata": object{"namespace": "default", "name": name, "uid": name, "resourceVersion": strconv.Itoa(n + 1), "annotations": object{"a": strings.Repeat("x", 20000)}},
		"spec":     object{"headGroupSpec": object{"template": object{"spec": object{"containers": []object{{"name": "ray-head", "image": "x"}}}}}},
		"status":   object{"state": "ready", "head": object{"serviceName": name + "-head-svc"}},
	}
}

var hostileNumber = regexp.MustCompile(`evil-(\d+)-`)

// hostileDashboard answers 60 MiB of something; the log is honest but long.
func hostileDashboard(w http.ResponseWriter, path string) {
	n, _ := strconv.Atoi(hostileNumber.FindStringSubmatch(path)[1])
	begin, text := `[`, []string{`1,`, `{"status":"PENDING","runtime_env":{"a":[{},{},{},{}]}},`, `{"status":"PENDING","message":"` + strings.Repeat("x", 1<<20) + `"},`, `{`}[n%4]
	switch {
	case strings.HasSuffix(path, "/logs"):
		begin, text = `{"logs":"`, strings.Repeat("x", 999)+`\n`
	case !strings.HasSuffix(path, "/jobs/"):
		begin, text = `{"status":"SUCCEEDED"`, ``
		if strings.HasSuffix(path, "/big") {
			text = []string{`,"a":[]`, `,"message":"` + strings.Repeat("x", 1<<20) + `"`}[n%2]
		}
	}
	_, _ = io.WriteString(w, begin)
	part := strings.Repeat(text, 64<<10/max(len(text), 1)+1)
	for sent := 0; sent < 60<<20 && part != ""; sent += len(part) {
		if _, err := io.WriteString(w, part); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, `}`)
}

// gatewayProcess is the gateway as a process of its own, whose memory is known.
type gatewayProcess struct {
	*exec.Cmd
	grpc, http string
	log        *bytes.Buffer
}

func startLimited(t *testing.T, kubernetes string) *gatewayProcess {
	t.Helper()
	ports, err := programs.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	config := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{"apiVersion":"v1","kind":"Config","current-context":"p","clusters":[{"name":"p","cluster":{"server":"` + kubernetes + `"}}],"contexts":[{"name":"p","context":{"cluster":"p","user":"p"}}],"users":[{"name":"p","user":{}}]}`
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &gatewayProcess{grpc: at(0), http: at(1), log: &bytes.Buffer{}}
	g.Cmd = exec.Command(os.Args[0], "--kubeconfig="+config, "--grpc-address="+g.grpc, "--http-address="+g.http, "--metrics-address="+at(2), //nolint:gosec // this test
		fmt.Sprintf("--memory-limit=%dMi", memoryMiB), "--use-kubernetes-proxy")
	g.Env = append(os.Environ(), asGateway+"=1")
	g.Stdout, g.Stderr = g.log, g.log
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = g.Process.Kill()
		_ = g.Wait()
		if text := g.log.String(); t.Failed() {
			t.Logf("the end of the gateway's log:\n%s", text[max(0, len(text)-3000):])
		}
	})
	await.True(t, "the gateway is ready", func() bool {
		resp, err := http.Get("http://" + g.http + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == 200
	})
	return g
}

// peakMiB is the most memory that the process has had.
func (g *gatewayProcess) peakMiB(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.Process.Pid))
	if err != nil {
		t.Skip("the memory of a process is not known here: ", err)
	}
	found := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("the process has ended:\n%s", status)
	}
	kib, _ := strconv.Atoi(string(found[1]))
	return kib >> 10
}

func (g *gatewayProcess) get(ctx context.Context, user, path string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.http+path, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+user)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// gets repeats a request until enough ends and there was a good answer, and returns how long the good answers took, in order of their length.
func (g *gatewayProcess) gets(ctx, enough context.Context, user, path string) (took []time.Duration) {
	for ctx.Err() == nil && (enough.Err() == nil || len(took) == 0) {
		begin := time.Now()
		if code, err := g.get(ctx, user, path); err == nil && code == http.StatusOK {
			took = append(took, time.Since(begin))
		}
		time.Sleep(10 * time.Millisecond)
	}
	slices.Sort(took)
	return took
}

// stall sends a request by a connection of its own, and reads no more than the beginning of the answer.
func (g *gatewayProcess) stall(t *testing.T, user, path string) {
	t.Helper()
	conn, err := net.Dial("tcp", g.http)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", path, user)
}

// stallByGRPC asks for lists and logs of which nothing is read, on one connection.
func (g *gatewayProcess) stallByGRPC(ctx context.Context, t *testing.T, user string) {
	t.Helper()
	conn, err := grpc.NewClient(g.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+user)
	for range 40 {
		s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, raygatev2.ClusterService_ListClusters_FullMethodName)
		if err != nil {
			continue
		}
		_ = s.SendMsg(&raygatev2.ListClustersRequest{Namespace: "default", PageSize: 1000, View: "FULL"})
		_ = s.CloseSend()
	}
}

// listAll reads all pages of the clusters with what gRPC takes by default.
func (g *gatewayProcess) listAll(ctx context.Context, t *testing.T, user string) (clusters, pages int, err error) {
	t.Helper()
	conn, err := grpc.NewClient(g.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+user)
	for token := ""; ; pages++ {
		resp, err := raygatev2.NewClusterServiceClient(conn).ListClusters(ctx, &raygatev2.ListClustersRequest{Namespace: "default", PageSize: 1000, View: "FULL", PageToken: token})
		if err != nil {
			return clusters, pages, err
		}
		clusters += len(resp.GetItems())
		if token = resp.GetNextPageToken(); token == "" {
			return clusters, pages + 1, nil
		}
	}
}

// TestHostileTenants has tenants whose dashboards answer what takes far more memory than bytes, and hundreds of clients that do not read what they ask for.
// The gateway stays within its memory and answers others.
func TestHostileTenants(t *testing.T) {
	if testing.Short() {
		t.Skip("takes both cores for many seconds")
	}
	kubernetes := httptest.NewServer(kubernetesOfTenants{})
	t.Cleanup(kubernetes.Close) // after the gateway has ended: its watches would come back, and Close waits for them
	g := startLimited(t, kubernetes.URL)
	ctx, cancel := context.WithTimeout(t.Context(), answeredTime)
	defer cancel()
	attacking, end := context.WithTimeout(ctx, hostileTime)
	defer end()
	tenant := func(n int) string { return fmt.Sprintf("tenant-%d", n%tenants) }
	for n := range slowReaders {
		g.stall(t, tenant(n), fmt.Sprintf("/apis/v2/namespaces/default/clusters/evil-%d/submissions/x/logs", n%hostileClusters))
	}
	for n := range tenants {
		g.stallByGRPC(ctx, t, tenant(n))
	}
	var attack sync.WaitGroup
	begin := time.Now()
	calls := make(chan string, 2*hostileClusters)
	for n := range hostileClusters {
		calls <- fmt.Sprintf("/apis/v2/namespaces/default/clusters/evil-%d/submissions", n)
		calls <- fmt.Sprintf([]string{
			"/apis/v2/namespaces/default/clusters/evil-%d/submissions/big", "/apis/v1/namespaces/default/jobsubmissions/evil-%d", "/apis/v1/namespaces/default/jobsubmissions/evil-%d/log/x",
		}[n%3], n)
	}
	close(calls)
	for n := range hostileClusters {
		attack.Go(func() {
			for path := range calls {
				if attacking.Err() == nil {
					_, _ = g.get(attacking, "greedy-"+tenant(n), path)
				}
			}
		})
	}
	var took []time.Duration
	attack.Go(func() { took = g.gets(ctx, attacking, "patient", "/apis/v2/namespaces/default/clusters/evil-7") })
	for _, path := range []string{"/clusters/evil-7", "/clusters", "/clusters?view=FULL", "/clusters/evil-7/submissions/x"} {
		for {
			code, err := g.get(ctx, "honest", "/apis/v2/namespaces/default"+path)
			if ctx.Err() != nil {
				t.Fatalf("an honest caller of %s gets no answer: %d, %v", path, code, err)
			}
			if code == http.StatusOK && err == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	for {
		clusters, pages, err := g.listAll(ctx, t, "honest")
		if err == nil && (clusters != hostileClusters || pages < 2) {
			t.Errorf("%d clusters on %d pages", clusters, pages)
		}
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("an honest caller gets no list by gRPC: %v", err)
		}
	}
	t.Logf("honest callers were answered within %s", time.Since(begin))
	attack.Wait()
	if len(took) == 0 {
		t.Error("a caller who repeats a get was never answered")
	} else {
		t.Logf("%d gets meanwhile: p50 %s, p99 %s", len(took), took[len(took)/2], took[len(took)*99/100])
	}
	peak := g.peakMiB(t)
	t.Logf("the gateway had %d MiB at most, in %s", peak, time.Since(begin))
	if peak >= memoryMiB {
		t.Errorf("the gateway had %d MiB of %d", peak, memoryMiB)
	}
	if code, err := g.get(t.Context(), "honest", "/apis/v2/namespaces/default/clusters/evil-7"); code != http.StatusOK {
		t.Errorf("afterwards: %d, %v", code, err)
	}
}
