package resource

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const (
	kueueGroup = "kueue.x-k8s.io"
	// kueueTime bounds the requests about Kueue.
	kueueTime = 3 * time.Second
	// maxQueues is the maximum number of queues in a list.
	maxQueues = 500
	// namesOnly asks for a table, which has the names of objects and little more, whatever their size.
	namesOnly = "application/json;as=Table;g=meta.k8s.io;v=v1"
)

// kueueResource is a resource of Kueue in a namespace.
type kueueResource struct {
	group, name string
	params      map[string]string
	// accept is the media type of the answer. Empty means JSON.
	accept string
}

// read reads the resource in the newest version that the API server has.
func (k kueueResource) read(ctx context.Context, core rest.Interface, namespace string, into any) (err error) {
	for _, version := range []string{"v1beta2", "v1beta1"} {
		request := core.Get().AbsPath("/apis", k.group, version, "namespaces", namespace, k.name).SetHeader("Accept", cmp.Or(k.accept, "application/json")).MaxRetries(0)
		for name, value := range k.params {
			request.Param(name, value)
		}
		var raw []byte
		raw, err = request.Do(ctx).Raw()
		if err == nil {
			return json.Unmarshal(raw, into)
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	return err
}

// Queues returns the names of the first LocalQueues of Kueue in a namespace, with the rights of the caller; none without Kueue.
func Queues(ctx context.Context, core rest.Interface, namespace string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, kueueTime)
	defer cancel()
	queues := kueueResource{group: kueueGroup, name: "localqueues", accept: namesOnly, params: map[string]string{"limit": strconv.Itoa(maxQueues), "includeObject": string(metav1.IncludeNone)}}
	var table metav1.Table
	if err := queues.read(ctx, core, namespace, &table); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, err
	}
	var names []string
	for _, row := range table.Rows {
		if len(row.Cells) > 0 {
			if name, ok := row.Cells[0].(string); ok {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}
