package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/document"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/pkg/kubedoc"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// process is a running gateway.
type process struct {
	grpc, http, health string
	stop               func() error
}

func startProcess(t *testing.T, config *rest.Config, mode authn.Mode, edits ...func(*Options)) *process {
	t.Helper()
	p := launch(t, config, mode, edits...)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if code, _ := p.ready(t); code == http.StatusOK {
			return p
		}
		if time.Now().After(deadline) {
			t.Fatal("the gateway did not become ready")
		}
	}
}

// ready returns the answer of /readyz?verbose, 0 when there is none.
func (p *process) ready(t *testing.T) (int, string) {
	t.Helper()
	resp, err := http.Get("http://" + p.health + "/readyz?verbose")
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// launch starts a gateway and does not wait for it.
func launch(t *testing.T, config *rest.Config, mode authn.Mode, edits ...func(*Options)) *process {
	t.Helper()
	o := NewOptions()
	o.Authentication, o.restConfig = string(mode), rest.CopyConfig(config)
	o.restConfig.QPS = -1
	p := &process{}
	for _, a := range []struct{ option, address *string }{{&o.GRPCAddress, &p.grpc}, {&o.HTTPAddress, &p.http}, {&o.MetricsAddress, &p.health}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		*a.address, *a.option = l.Addr().String(), l.Addr().String()
		_ = l.Close()
	}
	for _, edit := range edits {
		edit(o)
	}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, o) }()
	p.stop = func() error {
		cancel()
		select {
		case err := <-ended:
			ended <- err
			return err
		case <-time.After(30 * time.Second):
			return errors.New("the process did not end")
		}
	}
	t.Cleanup(func() { _ = p.stop() })
	return p
}

// entryPoint is a way to call ClusterService; a case runs once through each.
type entryPoint interface {
	create(ctx context.Context, req *raygatev2.CreateClusterRequest) (*raygatev2.RayCluster, error)
	get(ctx context.Context, req *raygatev2.GetClusterRequest) (*raygatev2.RayCluster, error)
	list(ctx context.Context, req *raygatev2.ListClustersRequest) (*raygatev2.ListClustersResponse, error)
	replace(ctx context.Context, req *raygatev2.ReplaceClusterRequest) (*raygatev2.RayCluster, error)
	remove(ctx context.Context, req *raygatev2.DeleteClusterRequest) error
	watch(ctx context.Context, req *raygatev2.WatchClustersRequest, each func(*raygatev2.WatchClustersResponse) bool) error
}

type grpcEntry struct {
	client raygatev2.ClusterServiceClient
}

func newGRPCEntry(t *testing.T, address, token string) grpcEntry {
	t.Helper()
	bearer := func(ctx context.Context) context.Context {
		if token == "" {
			return ctx
		}
		return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, resp any, cc *grpc.ClientConn, next grpc.UnaryInvoker, o ...grpc.CallOption) error {
			return next(bearer(ctx), method, req, resp, cc, o...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
			return next(bearer(ctx), d, cc, method, o...)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return grpcEntry{raygatev2.NewClusterServiceClient(conn)}
}

func (d grpcEntry) create(ctx context.Context, req *raygatev2.CreateClusterRequest) (*raygatev2.RayCluster, error) {
	resp, err := d.client.CreateCluster(ctx, req)
	return resp.GetCluster(), err
}

func (d grpcEntry) get(ctx context.Context, req *raygatev2.GetClusterRequest) (*raygatev2.RayCluster, error) {
	resp, err := d.client.GetCluster(ctx, req)
	return resp.GetCluster(), err
}

func (d grpcEntry) list(ctx context.Context, req *raygatev2.ListClustersRequest) (*raygatev2.ListClustersResponse, error) {
	return d.client.ListClusters(ctx, req)
}

func (d grpcEntry) replace(ctx context.Context, req *raygatev2.ReplaceClusterRequest) (*raygatev2.RayCluster, error) {
	resp, err := d.client.ReplaceCluster(ctx, req)
	return resp.GetCluster(), err
}

func (d grpcEntry) remove(ctx context.Context, req *raygatev2.DeleteClusterRequest) error {
	_, err := d.client.DeleteCluster(ctx, req)
	return err
}

func (d grpcEntry) watch(ctx context.Context, req *raygatev2.WatchClustersRequest, each func(*raygatev2.WatchClustersResponse) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := d.client.WatchClusters(ctx, req)
	if err != nil {
		return err
	}
	for {
		e, err := stream.Recv()
		if err != nil {
			return err
		}
		if !each(e) {
			return nil
		}
	}
}

// restEntry speaks JSON, or YAML.
type restEntry struct {
	base, token, contentType string
}

// do sends a request whose fields besides the body are query parameters, and decodes the answer strictly.
func (d restEntry) do(ctx context.Context, method, path string, req proto.Message, body, into proto.Message) error {
	query := map[string]any{}
	data, _ := protojson.Marshal(req)
	_ = json.Unmarshal(data, &query)
	values := []string{}
	for k, v := range query {
		if k != "namespace" && k != "name" && k != "cluster" {
			values = append(values, fmt.Sprintf("%s=%s", k, strings.NewReplacer(" ", "%20", "+", "%2B", "=", "%3D").Replace(fmt.Sprint(v))))
		}
	}
	var content []byte
	if body != nil {
		content, _ = document.JSON(body)
		if d.contentType == typeYAML {
			content, _ = yaml.JSONToYAML(content)
		}
	}
	resp, err := d.send(ctx, method, path+"?"+strings.Join(values, "&"), content)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return restError(answer, d.contentType)
	}
	return decodeAnswer(answer, resp.Header.Get("Content-Type") == typeYAML, into)
}

const (
	typeJSON = "application/json"
	typeYAML = "application/yaml"
)

// decodeAnswer refuses what the message does not have: what comes out of it again is compared with what came.
func decodeAnswer(answer []byte, isYAML bool, into proto.Message) error {
	tree, mistakes := kubedoc.Read(answer, isYAML)
	if len(mistakes) > 0 {
		return mistakes.ToAggregate()
	}
	convert.FillKnown(into, tree)
	if again := convert.Tree(into); !reflect.DeepEqual(tree, again) {
		return fmt.Errorf("the answer has what its message has not:\n%s", cmp.Diff(tree, again))
	}
	return nil
}

func restError(answer []byte, contentType string) error {
	var st struct {
		Code    codes.Code
		Message string
	}
	if contentType == typeYAML {
		_, rest, _ := bytes.Cut(answer, []byte("code: "))
		_, _ = fmt.Sscan(string(rest), &st.Code)
		return status.Error(st.Code, string(answer))
	}
	var raw struct {
		Code    uint32
		Message string
	}
	if err := json.Unmarshal(answer, &raw); err != nil {
		return fmt.Errorf("answer is no JSON: %w: %s", err, answer)
	}
	return status.Error(codes.Code(raw.Code), raw.Message)
}

func (d restEntry) send(ctx context.Context, method, path string, content []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+d.base+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", d.contentType)
	r.Header.Set("Accept", d.contentType)
	if d.token != "" {
		r.Header.Set("Authorization", "Bearer "+d.token)
	}
	return http.DefaultClient.Do(r)
}

func collection(namespace string) string {
	if namespace == "" {
		return "/apis/v2/clusters"
	}
	return "/apis/v2/namespaces/" + namespace + "/clusters"
}

func (d restEntry) create(ctx context.Context, req *raygatev2.CreateClusterRequest) (*raygatev2.RayCluster, error) {
	out := &raygatev2.RayCluster{}
	return out, d.do(ctx, "POST", collection(req.GetNamespace()), req, req.GetCluster(), out)
}

func (d restEntry) get(ctx context.Context, req *raygatev2.GetClusterRequest) (*raygatev2.RayCluster, error) {
	out := &raygatev2.RayCluster{}
	return out, d.do(ctx, "GET", collection(req.GetNamespace())+"/"+req.GetName(), req, nil, out)
}

func (d restEntry) list(ctx context.Context, req *raygatev2.ListClustersRequest) (*raygatev2.ListClustersResponse, error) {
	out := &raygatev2.ListClustersResponse{}
	return out, d.do(ctx, "GET", collection(req.GetNamespace()), req, nil, out)
}

func (d restEntry) replace(ctx context.Context, req *raygatev2.ReplaceClusterRequest) (*raygatev2.RayCluster, error) {
	out := &raygatev2.RayCluster{}
	return out, d.do(ctx, "PUT", collection(req.GetNamespace())+"/"+req.GetName(), req, req.GetCluster(), out)
}

func (d restEntry) remove(ctx context.Context, req *raygatev2.DeleteClusterRequest) error {
	return d.do(ctx, "DELETE", collection(req.GetNamespace())+"/"+req.GetName(), req, nil, &raygatev2.DeleteClusterResponse{})
}

func (d restEntry) watch(ctx context.Context, req *raygatev2.WatchClustersRequest, each func(*raygatev2.WatchClustersResponse) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path := collection(req.GetNamespace()) + ":watch"
	if token := req.GetResumeToken(); token != "" {
		path += "?resumeToken=" + token
	}
	resp, err := restEntry{d.base, d.token, typeJSON}.send(ctx, "GET", path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(resp.Body)
		return restError(answer, typeJSON)
	}
	lines := json.NewDecoder(resp.Body)
	for {
		var line json.RawMessage
		if err := lines.Decode(&line); err != nil {
			return err
		}
		e := &raygatev2.WatchClustersResponse{}
		if err := decodeAnswer(line, false, e); err != nil {
			return err
		}
		if !each(e) {
			return nil
		}
	}
}

func TestEntryPoints(t *testing.T) {
	env := shared.Env(t)
	p := startProcess(t, env.Config, authn.None)
	for name, d := range map[string]entryPoint{
		"grpc": newGRPCEntry(t, p.grpc, ""),
		"json": restEntry{p.http, "", typeJSON},
		"yaml": restEntry{p.http, "", typeYAML},
	} {
		t.Run(name, func(t *testing.T) { testEntryPoint(t, d, name) })
	}
	t.Run("passthrough", func(t *testing.T) { testPassthrough(t, env) })
	t.Run("drain", func(t *testing.T) {
		d := newGRPCEntry(t, p.grpc, "")
		err := d.watch(t.Context(), &raygatev2.WatchClustersRequest{}, func(e *raygatev2.WatchClustersResponse) bool {
			if e.GetType() == "SYNCED" {
				go func() { _ = p.stop() }()
			}
			return true
		})
		if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "resume_token") {
			t.Errorf("the watch ended with %v, want Unavailable and a hint", err)
		}
		if err := p.stop(); err != nil {
			t.Errorf("the process ended with %v", err)
		}
	})
}

func demo(t *testing.T, name string) *raygatev2.RayCluster {
	t.Helper()
	rc := raytest.RayCluster("default/"+name, raytest.Workers("cpu", 2))
	rc.UID, rc.ResourceVersion = "", ""
	data, err := json.Marshal(rc)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := kubedoc.ParseTree(data)
	if err != nil {
		t.Fatal(err)
	}
	cluster := &raygatev2.RayCluster{}
	convert.FillKnown(cluster, tree)
	cluster.Status = nil
	return cluster
}

func wantCode(t *testing.T, what string, err error, want codes.Code) {
	t.Helper()
	if status.Code(err) != want {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func testEntryPoint(t *testing.T, d entryPoint, prefix string) {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	first := prefix + "-1"

	var events []string
	synced, watched := make(chan struct{}), make(chan error, 1)
	go func() {
		watched <- d.watch(ctx, &raygatev2.WatchClustersRequest{Namespace: "default"}, func(e *raygatev2.WatchClustersResponse) bool {
			if e.GetType() == "SYNCED" {
				close(synced)
				return true
			}
			if e.GetCluster().GetMetadata().GetName() == first {
				events = append(events, e.GetType())
			}
			return len(events) == 0 || events[len(events)-1] != "DELETED"
		})
	}()
	select {
	case <-synced:
	case err := <-watched:
		t.Fatalf("watch ended with %v", err)
	}

	dry, err := d.create(ctx, &raygatev2.CreateClusterRequest{Namespace: "default", Cluster: demo(t, first), ValidateOnly: true})
	wantCode(t, "validate only", err, codes.OK)
	if dry.GetMetadata().GetName() != first {
		t.Errorf("validate only answered %v", dry)
	}
	_, err = d.get(ctx, &raygatev2.GetClusterRequest{Namespace: "default", Name: first})
	wantCode(t, "get after validate only", err, codes.NotFound)

	create := &raygatev2.CreateClusterRequest{Namespace: "default", Cluster: demo(t, first), RequestId: uuid.NewString()}
	created, err := d.create(ctx, create)
	wantCode(t, "create", err, codes.OK)
	again, err := d.create(ctx, create)
	wantCode(t, "create again", err, codes.OK)
	if diff := cmp.Diff(created.GetMetadata().GetUid(), again.GetMetadata().GetUid()); diff != "" {
		t.Errorf("repeated create (-want +got):\n%s", diff)
	}
	_, err = d.create(ctx, &raygatev2.CreateClusterRequest{Namespace: "default", Cluster: demo(t, first)})
	wantCode(t, "create another of the name", err, codes.AlreadyExists)

	got, err := d.get(ctx, &raygatev2.GetClusterRequest{Namespace: "default", Name: first})
	wantCode(t, "get", err, codes.OK)
	if diff := cmp.Diff(created, got, protocmp.Transform()); diff != "" {
		t.Errorf("get after create (-created +got):\n%s", diff)
	}
	// What was read can be created elsewhere as it is.
	copied := proto.CloneOf(got)
	copied.Metadata.Name = prefix + "-2"
	second, err := d.create(ctx, &raygatev2.CreateClusterRequest{Namespace: "default", Cluster: copied})
	wantCode(t, "create a copy", err, codes.OK)
	if diff := cmp.Diff(got.GetSpec(), second.GetSpec(), protocmp.Transform()); diff != "" {
		t.Errorf("spec of the copy (-want +got):\n%s", diff)
	}

	var names []string
	for token := ""; ; {
		page, err := d.list(ctx, &raygatev2.ListClustersRequest{Namespace: "default", PageSize: 1, PageToken: token, Filter: `name : "` + prefix + `-"`})
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		for _, c := range page.GetItems() {
			names = append(names, c.GetMetadata().GetName())
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{first, prefix + "-2"}, names); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}

	got.Spec.Suspend = new(true)
	replaced, err := d.replace(ctx, &raygatev2.ReplaceClusterRequest{Namespace: "default", Name: first, Cluster: got})
	wantCode(t, "replace", err, codes.OK)
	if !replaced.GetSpec().GetSuspend() {
		t.Errorf("replace answered %v", replaced)
	}
	_, err = d.replace(ctx, &raygatev2.ReplaceClusterRequest{Namespace: "default", Name: first, Cluster: got})
	wantCode(t, "replace an old version", err, codes.Aborted)
	got.Metadata.ResourceVersion = ""
	_, err = d.replace(ctx, &raygatev2.ReplaceClusterRequest{Namespace: "default", Name: first, Cluster: got})
	wantCode(t, "replace without version", err, codes.InvalidArgument)

	bad := demo(t, prefix+"-bad")
	bad.Spec.WorkerGroupSpecs[0].MinReplicas = new(int32(9))
	bad.Spec.WorkerGroupSpecs[0].MaxReplicas = new(int32(-1))
	_, err = d.create(ctx, &raygatev2.CreateClusterRequest{Namespace: "default", Cluster: bad})
	wantCode(t, "create what breaks a rule", err, codes.InvalidArgument)
	_, err = d.create(ctx, &raygatev2.CreateClusterRequest{Namespace: "default"})
	wantCode(t, "create nothing", err, codes.InvalidArgument)
	_, err = d.create(ctx, &raygatev2.CreateClusterRequest{Namespace: "nowhere", Cluster: func() *raygatev2.RayCluster { c := demo(t, "x"); c.Metadata.Namespace = ""; return c }()})
	wantCode(t, "create in a missing namespace", err, codes.NotFound)

	for _, n := range []string{first, prefix + "-2"} {
		wantCode(t, "delete", d.remove(ctx, &raygatev2.DeleteClusterRequest{Namespace: "default", Name: n}), codes.OK)
		_, err = d.get(ctx, &raygatev2.GetClusterRequest{Namespace: "default", Name: n})
		wantCode(t, "get after delete", err, codes.NotFound)
	}
	wantCode(t, "delete again", d.remove(ctx, &raygatev2.DeleteClusterRequest{Namespace: "default", Name: first}), codes.NotFound)
	wantCode(t, "delete what may be missing", d.remove(ctx, &raygatev2.DeleteClusterRequest{Namespace: "default", Name: first, AllowMissing: true}), codes.OK)

	if err := <-watched; err != nil {
		t.Errorf("watch: %v", err)
	}
	if diff := cmp.Diff([]string{"ADDED", "MODIFIED", "DELETED"}, events); diff != "" {
		t.Errorf("watched (-want +got):\n%s", diff)
	}
}
