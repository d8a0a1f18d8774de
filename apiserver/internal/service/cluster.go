package service

import (
	"context"
	"math"

	"google.golang.org/grpc"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authz"
	modelv2 "github.com/raygate/raygate/apiserver/internal/model/v2"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/kubedoc"
	"github.com/raygate/raygate/pkg/validation"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// Cluster is a RayCluster as the store returns it.
type Cluster = store.Item[*rayv1.RayCluster]

// ClusterStore is what ClusterService needs of the store.
type ClusterStore interface {
	Create(ctx context.Context, rc *rayv1.RayCluster, o store.CreateOptions) (*Cluster, error)
	Get(ctx context.Context, key types.NamespacedName, o store.ReadOptions) (*Cluster, error)
	List(ctx context.Context, o store.ListOptions[*rayv1.RayCluster]) (*store.Page[*rayv1.RayCluster], error)
	Replace(ctx context.Context, rc *rayv1.RayCluster, o store.ReplaceOptions) (*Cluster, error)
	Delete(ctx context.Context, key types.NamespacedName, o store.DeleteOptions) (types.UID, error)
	Watch(ctx context.Context, o store.WatchOptions[*rayv1.RayCluster], send func(store.Event[*rayv1.RayCluster]) error) error
}

// ClusterOptions of NewClusters. All fields are required but Warn.
type ClusterOptions struct {
	Store      ClusterStore
	Authorizer authz.Authorizer
	Validation validation.Options
	// Warn tells the client of something that does not stop the call. Nil drops it.
	Warn func(ctx context.Context, text string)
}

// Clusters implements ClusterService.
type Clusters struct {
	raygatev2.UnsafeClusterServiceServer // so that a new method in the proto is a compile error here
	ClusterOptions
}

var _ raygatev2.ClusterServiceServer = (*Clusters)(nil)

// NewClusters returns the ClusterService.
func NewClusters(o ClusterOptions) *Clusters {
	if o.Warn == nil {
		o.Warn = func(context.Context, string) {}
	}
	return &Clusters{ClusterOptions: o}
}

// CreateCluster implements raygatev2.ClusterServiceServer.
func (s *Clusters) CreateCluster(ctx context.Context, req *raygatev2.CreateClusterRequest) (*raygatev2.CreateClusterResponse, error) {
	if err := checkNamespace(req.GetNamespace()); err != nil {
		return nil, err
	}
	if err := checkRequestID(req.GetRequestId()); err != nil {
		return nil, err
	}
	rc, err := s.accept(ctx, req.GetNamespace(), "", req.GetCluster())
	if err != nil {
		return nil, err
	}
	item, err := s.Store.Create(ctx, rc, store.CreateOptions{RequestID: req.GetRequestId(), DryRun: req.GetValidateOnly()})
	if err != nil {
		return nil, err
	}
	cluster, err := clusterView(item, true)
	return &raygatev2.CreateClusterResponse{Cluster: cluster}, err
}

// GetCluster implements raygatev2.ClusterServiceServer.
func (s *Clusters) GetCluster(ctx context.Context, req *raygatev2.GetClusterRequest) (*raygatev2.GetClusterResponse, error) {
	full, err := parseView(req.GetView(), true)
	if err != nil {
		return nil, err
	}
	if err := checkName(req.GetNamespace(), req.GetName()); err != nil {
		return nil, err
	}
	o, err := readOptions(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.authorize(ctx, "get", req.GetNamespace(), req.GetName()); err != nil {
		return nil, err
	}
	item, err := s.Store.Get(ctx, types.NamespacedName{Namespace: req.GetNamespace(), Name: req.GetName()}, o)
	if err != nil {
		return nil, err
	}
	cluster, err := clusterView(item, full)
	return &raygatev2.GetClusterResponse{Cluster: cluster}, err
}

// ListClusters implements raygatev2.ClusterServiceServer.
func (s *Clusters) ListClusters(ctx context.Context, req *raygatev2.ListClustersRequest) (*raygatev2.ListClustersResponse, error) {
	o, full, err := listOptions(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := s.authorize(ctx, "list", req.GetNamespace(), ""); err != nil {
		return nil, err
	}
	page, err := s.Store.List(ctx, o)
	if err != nil {
		return nil, err
	}
	resp := &raygatev2.ListClustersResponse{
		ApiVersion: rayv1.GroupVersion.String(), Kind: "RayClusterList", Metadata: &raygatev2.ListMeta{ResourceVersion: page.Version},
		Items: make([]*raygatev2.RayCluster, 0, len(page.Items)), NextPageToken: page.NextPageToken, TotalSize: int32(min(page.Total, math.MaxInt32)),
	}
	for _, item := range page.Items {
		cluster, err := clusterView(item, full)
		if err != nil {
			return nil, err
		}
		resp.Items = append(resp.Items, cluster)
	}
	return resp, nil
}

func listOptions(ctx context.Context, req *raygatev2.ListClustersRequest) (o store.ListOptions[*rayv1.RayCluster], full bool, err error) {
	o = store.ListOptions[*rayv1.RayCluster]{
		Namespace: req.GetNamespace(), PageSize: int(req.GetPageSize()), PageToken: req.GetPageToken(), FilterText: req.GetFilter(), View: req.GetView(),
	}
	if o.ReadOptions, err = readOptions(ctx); err != nil {
		return o, false, err
	}
	if err := checkOptionalNamespace(req.GetNamespace()); err != nil {
		return o, false, err
	}
	if req.GetPageSize() < 0 {
		return o, false, rpcstatus.BadField("page_size", "%d is negative: use 0 for the default of %d, at most %d", req.GetPageSize(), store.DefaultPageSize, store.MaxPageSize)
	}
	if o.Selector, err = parseSelector(req.GetLabelSelector()); err != nil {
		return o, false, err
	}
	if o.Match, err = parseFilter(req.GetFilter()); err != nil {
		return o, false, err
	}
	if o.OrderBy, err = parseOrder(req.GetOrderBy()); err != nil {
		return o, false, err
	}
	full, err = parseView(req.GetView(), false)
	return o, full, err
}

// ReplaceCluster implements raygatev2.ClusterServiceServer.
func (s *Clusters) ReplaceCluster(ctx context.Context, req *raygatev2.ReplaceClusterRequest) (*raygatev2.ReplaceClusterResponse, error) {
	if err := checkName(req.GetNamespace(), req.GetName()); err != nil {
		return nil, err
	}
	rc, err := s.accept(ctx, req.GetNamespace(), req.GetName(), req.GetCluster())
	if err != nil {
		return nil, err
	}
	if etag := req.GetEtag(); etag != "" && etag != "*" {
		if rc.ResourceVersion != "" && rc.ResourceVersion != etag {
			return nil, rpcstatus.BadField("etag", "%q is not the resourceVersion %q of the body: send one of them, or the same in both", etag, rc.ResourceVersion)
		}
		if err := checkVersion("etag", etag); err != nil {
			return nil, err
		}
		rc.ResourceVersion = etag
	}
	if err := checkVersion("metadata.resourceVersion", rc.ResourceVersion); err != nil {
		return nil, err
	}
	item, err := s.Store.Replace(ctx, rc, store.ReplaceOptions{
		AllowOverwrite: req.GetAllowOverwrite() || req.GetEtag() == "*", DryRun: req.GetValidateOnly(), Check: s.judgeUpdate(ctx, rc),
	})
	if err != nil {
		return nil, err
	}
	cluster, err := clusterView(item, true)
	return &raygatev2.ReplaceClusterResponse{Cluster: cluster}, err
}

var propagations = map[string]metav1.DeletionPropagation{
	"":           metav1.DeletePropagationBackground,
	"BACKGROUND": metav1.DeletePropagationBackground,
	"FOREGROUND": metav1.DeletePropagationForeground,
	"ORPHAN":     metav1.DeletePropagationOrphan,
}

// DeleteCluster implements raygatev2.ClusterServiceServer.
func (s *Clusters) DeleteCluster(ctx context.Context, req *raygatev2.DeleteClusterRequest) (*raygatev2.DeleteClusterResponse, error) {
	if err := checkName(req.GetNamespace(), req.GetName()); err != nil {
		return nil, err
	}
	propagation, ok := propagations[req.GetPropagation()]
	if !ok {
		return nil, rpcstatus.BadField("propagation", "%q is not known: use BACKGROUND, FOREGROUND or ORPHAN", req.GetPropagation())
	}
	version := req.GetEtag()
	if version == "*" {
		version = ""
	}
	if err := checkVersion("etag", version); err != nil {
		return nil, err
	}
	uid, err := s.Store.Delete(ctx, types.NamespacedName{Namespace: req.GetNamespace(), Name: req.GetName()}, store.DeleteOptions{
		UID: types.UID(req.GetUid()), Version: version, Propagation: propagation, DryRun: req.GetValidateOnly(),
	})
	if apierrors.IsNotFound(err) && req.GetAllowMissing() {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return &raygatev2.DeleteClusterResponse{Uid: string(uid)}, nil
}

// WatchClusters implements raygatev2.ClusterServiceServer.
func (s *Clusters) WatchClusters(req *raygatev2.WatchClustersRequest, stream grpc.ServerStreamingServer[raygatev2.WatchClustersResponse]) error {
	ctx := stream.Context()
	allowed := func() error { return s.authorize(ctx, "watch", req.GetNamespace(), "") }
	o := store.WatchOptions[*rayv1.RayCluster]{
		Namespace: req.GetNamespace(), ResumeToken: req.GetResumeToken(), SkipInitial: req.GetSkipInitial(), OnHeartbeat: allowed,
	}
	if err := checkOptionalNamespace(req.GetNamespace()); err != nil {
		return err
	}
	full, err := parseView(req.GetView(), true)
	if err != nil {
		return err
	}
	if o.ReadOptions, err = readOptions(ctx); err != nil {
		return err
	}
	if o.Selector, err = parseSelector(req.GetLabelSelector()); err != nil {
		return err
	}
	if o.Match, err = parseFilter(req.GetFilter()); err != nil {
		return err
	}
	if err := allowed(); err != nil {
		return err
	}
	return s.Store.Watch(ctx, o, func(e store.Event[*rayv1.RayCluster]) error {
		resp := &raygatev2.WatchClustersResponse{Type: eventTypes[e.Type], ResumeToken: e.Token}
		if e.Item != nil {
			var err error
			if resp.Cluster, err = clusterView(e.Item, full); err != nil {
				return err
			}
		}
		return stream.Send(resp)
	})
}

var eventTypes = map[store.EventType]string{
	store.Added: "ADDED", store.Modified: "MODIFIED", store.Deleted: "DELETED",
	store.Synced: "SYNCED", store.Heartbeat: "HEARTBEAT", store.Reset: "RESET",
}

func (s *Clusters) authorize(ctx context.Context, verb, namespace, name string) error {
	return s.Authorizer.Authorize(ctx, authz.Access{Verb: verb, Group: rayv1.GroupVersion.Group, Resource: "rayclusters", Namespace: namespace, Name: name})
}

// accept turns the object of a request into what will be written, or says everything that is wrong with it. name is the one in the path, and
// empty on create. What is said of a replacement depends on what it replaces; judgeUpdate looks at that.
func (s *Clusters) accept(ctx context.Context, namespace, name string, in *raygatev2.RayCluster) (*rayv1.RayCluster, error) {
	if in == nil {
		return nil, rpcstatus.BadField("cluster", "required: send the RayCluster as the body")
	}
	rc, errs := modelv2.ClusterToRay(in)
	if rc == nil {
		rc = &rayv1.RayCluster{}
	}
	errs = append(errs, checkIdentity(in, namespace, name)...)
	rc.Namespace = namespace
	if name != "" {
		rc.Name = name
		if len(errs) == 0 {
			return rc, nil
		}
	}
	stored := asStored(rc)
	errs = kubedoc.Join(errs, validation.RayCluster(stored, s.Validation))
	if len(errs) > 0 {
		return nil, rpcstatus.Invalid(violations(errs))
	}
	for _, text := range validation.RayClusterWarnings(stored, s.Validation) {
		s.Warn(ctx, text)
	}
	return rc, nil
}

// judgeUpdate returns what the store is to ask about the object that rc replaces: as the webhook does, it refuses only for what the change brings
// in, so that an object from before a rule can still be scaled here.
func (s *Clusters) judgeUpdate(ctx context.Context, rc *rayv1.RayCluster) func(metav1.Object) error {
	stored := asStored(rc)
	return func(now metav1.Object) error {
		old, ok := now.(*rayv1.RayCluster)
		if !ok {
			old = nil
		}
		if errs := validation.RayClusterUpdate(stored, old, s.Validation); len(errs) > 0 {
			return rpcstatus.Invalid(violations(errs))
		}
		for _, text := range validation.RayClusterUpdateWarnings(stored, old, s.Validation) {
			s.Warn(ctx, text)
		}
		return nil
	}
}

// asStored is what the API server will store, with the defaults of the schema, which is what the verdict is on. The defaults themselves are left to
// the API server, which may be newer than this gateway.
func asStored(rc *rayv1.RayCluster) *rayv1.RayCluster {
	stored := rc.DeepCopy()
	rayv1.SetRayClusterDefaults(stored)
	return stored
}

// checkIdentity compares what the body says of its place with where it was sent. The model has looked at apiVersion and kind.
func checkIdentity(in *raygatev2.RayCluster, namespace, name string) field.ErrorList {
	var errs field.ErrorList
	meta := field.NewPath("metadata")
	if ns := in.GetMetadata().GetNamespace(); ns != "" && ns != namespace {
		errs = append(errs, field.Invalid(meta.Child("namespace"), ns, "must be the namespace of the request, "+namespace+", or left out").WithOrigin("request/namespace-mismatch"))
	}
	if n := in.GetMetadata().GetName(); name != "" && n != "" && n != name {
		errs = append(errs, field.Invalid(meta.Child("name"), n, "must be the name of the request, "+name+", or left out").WithOrigin("request/name-mismatch"))
	}
	return errs
}

func violations(errs field.ErrorList) []rpcstatus.Violation {
	var all []rpcstatus.Violation
	for _, v := range validation.Violations(errs) {
		all = append(all, rpcstatus.Violation{Field: v.Field, Description: v.Message, Reason: v.Rule})
	}
	return all
}

// clusterView converts an item, once per version of the object.
func clusterView(item *Cluster, full bool) (*raygatev2.RayCluster, error) {
	key, convert := "v2/full", func() (any, error) { return modelv2.ClusterFromRay(item.Object) }
	if !full {
		key, convert = "v2/basic", func() (any, error) { return modelv2.ClusterBasic(item.Object), nil }
	}
	v, err := item.Memo(key, convert)
	if err != nil {
		return nil, err
	}
	return v.(*raygatev2.RayCluster), nil
}
