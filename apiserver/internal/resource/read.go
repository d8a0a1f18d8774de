package resource

import (
	"cmp"
	"context"
	"math"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/labels"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/encoding"
	"github.com/raygate/raygate/apiserver/internal/filter"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// GetRequest is the request of Get.
type GetRequest interface {
	target
	GetView() string
}

// Get fills in resp with one object.
func (r *Resource) Get(ctx context.Context, req GetRequest, resp proto.Message) error {
	full, err := parseView(req.GetView(), true)
	if err != nil {
		return err
	}
	item, err := r.find(ctx, req, "get")
	if err != nil {
		return err
	}
	return r.Answer(ctx, resp, full, item)
}

// find returns the object of a request, for a caller who may use the verbs on it.
func (r *Resource) find(ctx context.Context, req target, verbs ...string) (*store.Item, error) {
	if err := checkName(req.GetNamespace(), req.GetName()); err != nil {
		return nil, err
	}
	o, err := readOptions(ctx)
	if err != nil {
		return nil, err
	}
	st, err := r.storeFor(ctx, req.GetNamespace(), req.GetName(), verbs...)
	if err != nil {
		return nil, err
	}
	if r.recorded != nil {
		return r.recorded.item, nil
	}
	r.warnOfAge(ctx, st)
	return st.Get(ctx, keyOf(req), o)
}

// ListRequest is the request of List.
type ListRequest interface {
	selector
	GetPageSize() int32
	GetPageToken() string
	GetOrderBy() string
	GetView() string
}

// textTimes is how many times shorter a page in YAML, or with indentation, is.
const textTimes = 8

// List fills in resp with a page of objects.
func (r *Resource) List(ctx context.Context, req ListRequest, resp proto.Message) error {
	o, full, err := r.listOptions(ctx, req)
	if err != nil {
		return err
	}
	rest, times := encoding.ExchangeOf(ctx), 1
	if rest != nil && rest.Text {
		times = textTimes
	}
	form := formOf(rest != nil, full)
	o.Bytes = flowcontrol.Room(ctx, copiesOf(rest), store.MaxPageBytes)
	o.Size = func(item *store.Item) int {
		data, _ := r.encoded(item, form) // an error is returned when the page is made
		return times * len(data)
	}
	page, err := r.Page(ctx, o)
	if err != nil {
		return err
	}
	set(resp, "api_version", rayv1.GroupVersion.String())
	set(resp, "kind", r.Checks.Kind+"List")
	set(resp, "metadata", (&raygatev2.ListMeta{ResourceVersion: page.Version}).ProtoReflect())
	set(resp, "next_page_token", page.NextPageToken)
	set(resp, "total_size", int32(min(page.Total, math.MaxInt32)))
	return r.Answer(ctx, resp, full, page.Items...)
}

// PageSize returns the length of the page that a request asks for: the default for 0, and the maximum for more than that.
func PageSize(requested int32) (int, error) {
	if requested < 0 {
		return 0, rpcstatus.BadField("page_size", "%d is negative: use 0 for the default of %d, at most %d", requested, store.DefaultPageSize, store.MaxPageSize)
	}
	return min(cmp.Or(int(requested), store.DefaultPageSize), store.MaxPageSize), nil
}

func (r *Resource) listOptions(ctx context.Context, req ListRequest) (o store.ListOptions, full bool, err error) {
	o = store.ListOptions{PageToken: req.GetPageToken(), FilterText: req.GetFilter(), View: req.GetView()}
	if o.Selection, err = r.selection(ctx, req); err != nil {
		return o, false, err
	}
	if o.PageSize, err = PageSize(req.GetPageSize()); err != nil {
		return o, false, err
	}
	if o.OrderBy, err = store.ParseOrder(req.GetOrderBy()); err != nil {
		return o, false, rpcstatus.BadField("order_by", "%v", err)
	}
	full, err = parseView(req.GetView(), false)
	return o, full, err
}

// maxSelector is the longest label selector in bytes. Each term costs time for each object.
const maxSelector = 4 << 10

// selector is the part of requests that chooses objects.
type selector interface {
	GetNamespace() string
	GetLabelSelector() string
	GetFilter() string
}

func (r *Resource) selection(ctx context.Context, req selector) (s store.Selection, err error) {
	s.Namespace = req.GetNamespace()
	if s.ReadOptions, err = readOptions(ctx); err != nil {
		return s, err
	}
	if s.Namespace != "" {
		if err := CheckNamespace(s.Namespace); err != nil {
			return s, err
		}
	}
	if len(req.GetLabelSelector()) > maxSelector {
		return s, rpcstatus.BadField("label_selector", "is longer than %d bytes", maxSelector)
	}
	if s.Selector, err = labels.Parse(req.GetLabelSelector()); err != nil {
		return s, rpcstatus.BadField("label_selector", "%v", err)
	}
	if text := req.GetFilter(); text != "" {
		f, err := filter.Parse(text, r.message.Descriptor(), r.State)
		if err != nil {
			return s, rpcstatus.BadField("filter", "%v", err)
		}
		s.Match = func(item *store.Item) bool { return f.Matches(item.JSON()) }
	}
	return s, nil
}
