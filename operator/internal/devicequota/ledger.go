package devicequota

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The permissions for ConfigMaps and Namespaces are in operator/config/components/device-admission.

// Ledger stores the reservations of all replicas: one ConfigMap per namespace, in the operator's namespace, where users who are
// limited by quotas cannot write. A write fails if another replica has written since the read. All fields are required.
type Ledger struct {
	// Reader must not be a cache.
	Reader    client.Reader
	Writer    client.Writer
	Namespace string
}

const (
	// ledgerPrefix is followed by the name of the namespace of the reservations.
	ledgerPrefix = "raygate-device-reservations."
	ledgerKey    = "reservations"
)

// table is the ledger of one namespace. It is immutable.
type table struct {
	object  *corev1.ConfigMap // nil if it does not exist yet
	records map[types.UID]record
}

// record is the demand of one Pod that other replicas may not see yet. It ends only by time: a replica that has seen the Pod must
// not delete it, because others may not have seen it.
type record struct {
	Scopes facts            `json:"scopes,omitzero"`
	Totals map[string]int64 `json:"totals"`
	Until  time.Time        `json:"until"`
}

// with returns the table with another record and without expired ones.
func (t *table) with(uid types.UID, r record, now time.Time) *table {
	out := &table{object: t.object, records: maps.Clone(t.records)}
	maps.DeleteFunc(out.records, func(_ types.UID, r record) bool { return !now.Before(r.Until) })
	if out.records == nil {
		out.records = map[types.UID]record{}
	}
	out.records[uid] = r
	return out
}

// read returns the current table.
func (l *Ledger) read(ctx context.Context, namespace string) (*table, error) {
	object := &corev1.ConfigMap{}
	err := l.Reader.Get(ctx, client.ObjectKey{Namespace: l.Namespace, Name: ledgerPrefix + namespace}, object)
	if apierrors.IsNotFound(err) {
		return &table{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the reservations of all replicas: %w", err)
	}
	t := &table{object: object}
	if err := json.Unmarshal([]byte(object.Data[ledgerKey]), &t.records); err != nil {
		// Records are short-lived; rejecting all Pods until the object is repaired would be worse.
		klog.FromContext(ctx).Error(err, "The reservations of all replicas cannot be read and are started anew", "ConfigMap", klog.KObj(object))
		t.records = nil
	}
	return t, nil
}

// write stores a table that is based on one that was read, and returns it as stored. It returns a conflict if the stored one has
// changed.
func (l *Ledger) write(ctx context.Context, namespace string, t *table) (*table, error) {
	data, err := json.Marshal(t.records)
	if err != nil {
		return nil, fmt.Errorf("encoding the reservations of all replicas: %w", err)
	}
	object := t.object.DeepCopy()
	if object == nil {
		object, err = l.create(ctx, namespace, string(data))
	} else {
		object.Data = map[string]string{ledgerKey: string(data)}
		err = l.Writer.Update(ctx, object)
	}
	if err != nil {
		return nil, fmt.Errorf("writing the reservations of all replicas: %w", err)
	}
	return &table{object: object, records: t.records}, nil
}

// create creates the ConfigMap. It is deleted with the namespace.
func (l *Ledger) create(ctx context.Context, namespace, data string) (*corev1.ConfigMap, error) {
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := l.Reader.Get(ctx, client.ObjectKey{Name: namespace}, ns); err != nil {
		return nil, err
	}
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: l.Namespace, Name: ledgerPrefix + namespace,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: namespace, UID: ns.UID}},
		},
		Data: map[string]string{ledgerKey: data},
	}
	return object, l.Writer.Create(ctx, object)
}
