package v1

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// listing is the request of a list. Its fields have other names in RayServeService.
type listing struct {
	// all means every namespace.
	all              bool
	namespace, token string
	// limit is the longest page wanted. Zero means everything.
	limit int64
	// serve means that errors name the fields as RayServeService does.
	serve bool
}

// list returns the items of a page and the token of the next one, empty on the last.
func (l listing) list(ctx context.Context, page func(context.Context, store.ListOptions) (*store.Page, error)) (items []*store.Item, next string, err error) {
	tokenField, limitField := "continue", "limit"
	if l.serve {
		tokenField, limitField = "pageToken", "pageSize"
	}
	if err := l.checkNamespace(); err != nil {
		return nil, "", err
	}
	if l.limit < 0 {
		return nil, "", rpcstatus.BadField(limitField, "%d is negative: use 0 for everything", l.limit)
	}
	o := store.ListOptions{
		Selection:  store.Selection{Namespace: l.namespace, Match: func(item *store.Item) bool { return metav1.GetControllerOf(&item.ObjectMeta) == nil }},
		FilterText: "v1", PageToken: l.token,
	}
	for {
		o.PageSize = store.MaxPageSize
		if l.limit > 0 {
			o.PageSize = int(min(l.limit-int64(len(items)), store.MaxPageSize))
		}
		p, err := page(ctx, o)
		if errors.Is(err, store.ErrPageToken) || errors.Is(err, store.ErrPageTokenExpired) {
			return nil, "", rpcstatus.BadField(tokenField, "is not one of this list, or has expired: repeat the list without it")
		}
		if err != nil {
			return nil, "", err
		}
		items = append(items, p.Items...)
		if o.PageToken = p.NextPageToken; o.PageToken == "" || l.limit > 0 && int64(len(items)) >= l.limit {
			return items, o.PageToken, nil
		}
	}
}

// checkNamespace demands the namespace of a list that is not of all. As in Kubernetes it need not exist, but it must be able to be part of a path.
func (l listing) checkNamespace() error {
	if l.all {
		return nil
	}
	if l.namespace == "" {
		return rpcstatus.BadField("namespace", "required")
	}
	if problems := content.IsPathSegmentName(l.namespace); len(problems) > 0 {
		return rpcstatus.BadField("namespace", "%s", problems[0])
	}
	return nil
}
