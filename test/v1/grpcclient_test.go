package v1

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// TestGRPCClient does by stubs what the other clients do by REST.
func TestGRPCClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), settle)
	defer cancel()
	code := func(what string, err error, want codes.Code) {
		t.Helper()
		if got := status.Code(err); got != want {
			t.Errorf("%s: want %s, got %v", what, want, err)
		}
	}
	ns := w.namespace
	t.Run("templates", func(t *testing.T) {
		c := kuberay.NewComputeTemplateServiceClient(product.conn)
		sent := &kuberay.ComputeTemplate{Name: "grpc", Namespace: ns, Cpu: 2, Memory: 4, MemoryUnit: "Mi"}
		made, err := c.CreateComputeTemplate(ctx, &kuberay.CreateComputeTemplateRequest{Namespace: ns, ComputeTemplate: sent})
		code("create", err, codes.OK)
		wantSame(t, sent, made)
		_, err = c.CreateComputeTemplate(ctx, &kuberay.CreateComputeTemplateRequest{Namespace: ns, ComputeTemplate: sent})
		code("create again", err, codes.AlreadyExists)
		_, err = c.CreateComputeTemplate(ctx, &kuberay.CreateComputeTemplateRequest{Namespace: ns})
		code("create nothing", err, codes.InvalidArgument)
		list, err := c.ListComputeTemplates(ctx, &kuberay.ListComputeTemplatesRequest{Namespace: ns})
		if code("list", err, codes.OK); len(list.GetComputeTemplates()) != 2 {
			t.Errorf("listed %v", list)
		}
		_, err = c.DeleteComputeTemplate(ctx, &kuberay.DeleteComputeTemplateRequest{Namespace: ns, Name: "grpc"})
		code("delete", err, codes.OK)
		_, err = c.GetComputeTemplate(ctx, &kuberay.GetComputeTemplateRequest{Namespace: ns, Name: "grpc"})
		code("get", err, codes.NotFound)
	})
	t.Run("clusters", func(t *testing.T) {
		c := kuberay.NewClusterServiceClient(product.conn)
		made, err := c.CreateCluster(ctx, &kuberay.CreateClusterRequest{Namespace: ns, Cluster: w.cluster("demo")})
		code("create", err, codes.OK)
		wantSame(t, w.spec(), made.GetClusterSpec())
		_, err = c.CreateCluster(ctx, &kuberay.CreateClusterRequest{Namespace: ns, Cluster: w.cluster("demo")})
		code("create again", err, codes.AlreadyExists)
		_, err = c.CreateCluster(ctx, &kuberay.CreateClusterRequest{Namespace: ns})
		code("create nothing", err, codes.InvalidArgument) // which ended KubeRay's server
		eventually(t, "both transports show the same", func() error {
			byREST := &kuberay.Cluster{}
			w.ok("GET", w.path("clusters", "demo"), nil, byREST)
			got, err := c.GetCluster(ctx, &kuberay.GetClusterRequest{Namespace: ns, Name: "demo"})
			if err != nil || !proto.Equal(got, byREST) || got.GetClusterState() != "ready" || len(got.GetEvents()) == 0 {
				return fmt.Errorf("by gRPC %v, by REST %v: %w", got, byREST, err)
			}
			return nil
		})
		list, err := c.ListCluster(ctx, &kuberay.ListClustersRequest{Namespace: ns, Limit: 1})
		if code("list", err, codes.OK); len(list.GetClusters()) != 1 || list.GetContinue() != "" {
			t.Errorf("listed %v", list)
		}
		_, err = c.ListCluster(ctx, &kuberay.ListClustersRequest{})
		code("list of no namespace", err, codes.InvalidArgument)
		short, cancel := context.WithTimeout(ctx, time.Nanosecond)
		defer cancel()
		_, err = c.GetCluster(short, &kuberay.GetClusterRequest{Namespace: ns, Name: "demo"})
		code("after a nanosecond", err, codes.DeadlineExceeded)
		_, err = c.GetCluster(ctx, &kuberay.GetClusterRequest{Namespace: ns, Name: "none"})
		code("get of nothing", err, codes.NotFound)
		details := false
		for _, d := range status.Convert(err).Details() {
			if info, ok := d.(*errdetails.ErrorInfo); ok {
				details = info.GetReason() != ""
			}
		}
		if !details {
			t.Errorf("nothing says why to a program: %v", status.Convert(err).Details())
		}
	})
	t.Run("submissions", func(t *testing.T) {
		c := kuberay.NewRayJobSubmissionServiceClient(product.conn)
		_, err := c.SubmitRayJob(ctx, &kuberay.SubmitRayJobRequest{Namespace: ns, Clustername: "demo"})
		code("submit nothing", err, codes.InvalidArgument)
		made, err := c.SubmitRayJob(ctx, &kuberay.SubmitRayJobRequest{Namespace: ns, Clustername: "demo", Jobsubmission: &kuberay.RayJobSubmission{Entrypoint: "echo hello"}})
		code("submit", err, codes.OK)
		eventually(t, "the log is there", func() error {
			log, err := c.GetJobLog(ctx, &kuberay.GetJobLogRequest{Namespace: ns, Clustername: "demo", Submissionid: made.GetSubmissionId()})
			if err != nil || log.GetLog() != "hello\n" {
				return fmt.Errorf("the log is %q: %w", log.GetLog(), err)
			}
			return nil
		})
		_, err = c.DeleteRayJob(ctx, &kuberay.DeleteRayJobSubmissionRequest{Namespace: ns, Clustername: "demo", Submissionid: made.GetSubmissionId()})
		code("delete", err, codes.OK)
		_, err = c.GetJobDetails(ctx, &kuberay.GetJobDetailsRequest{Namespace: ns, Clustername: "demo", Submissionid: made.GetSubmissionId()})
		code("details of nothing", err, codes.NotFound)
	})
	t.Run("jobs and services", func(t *testing.T) {
		jobs, services := kuberay.NewRayJobServiceClient(product.conn), kuberay.NewRayServeServiceClient(product.conn)
		_, err := jobs.CreateRayJob(ctx, &kuberay.CreateRayJobRequest{Namespace: ns})
		code("create no job", err, codes.InvalidArgument)
		job, err := jobs.CreateRayJob(ctx, &kuberay.CreateRayJobRequest{Namespace: ns, Job: w.job("demo", "true")})
		code("create a job", err, codes.OK)
		wantSame(t, w.job("demo", "true"), job, names(varies)...)
		service, err := services.CreateRayService(ctx, &kuberay.CreateRayServiceRequest{Namespace: ns, Service: w.service("demo")})
		code("create a service", err, codes.OK)
		wantSame(t, w.service("demo"), service, "created_at", "delete_at", "ray_service_status")
		changed := w.service("demo")
		changed.ClusterSpec.WorkerGroupSpec[0].Replicas = 2
		service, err = services.UpdateRayService(ctx, &kuberay.UpdateRayServiceRequest{Namespace: ns, Name: "demo", Service: changed})
		code("update a service", err, codes.OK)
		wantSame(t, changed, service, "created_at", "delete_at", "ray_service_status")
		page, err := services.ListRayServices(ctx, &kuberay.ListRayServicesRequest{Namespace: ns, PageSize: 7})
		if code("list services", err, codes.OK); len(page.GetServices()) != 1 || page.GetNextPageToken() != "" {
			t.Errorf("listed %v", page)
		}
		_, err = jobs.DeleteRayJob(ctx, &kuberay.DeleteRayJobRequest{Namespace: ns, Name: "demo"})
		code("delete a job", err, codes.OK)
		_, err = services.DeleteRayService(ctx, &kuberay.DeleteRayServiceRequest{Namespace: ns, Name: "demo"})
		code("delete a service", err, codes.OK)
	})
}
