package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/raygate/raygate/operator/internal/archive"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/pkg/history"
	_ "github.com/raygate/raygate/pkg/history/drivers" // file://, s3:// and azblob://
)

// HistoryOptions configure the history of ended objects.
type HistoryOptions struct {
	// Store is the URL of the store; empty means none.
	Store string
	// Wait is how long a deletion waits for a record.
	Wait time.Duration
	// LogLimit is the largest size of a log, and NodeLogs that of all logs of nodes in a record; 0 means none.
	LogLimit, NodeLogs resource.QuantityValue
	// MaxAge and MaxSize limit what is kept of each namespace; 0 means no limit.
	MaxAge  time.Duration
	MaxSize resource.QuantityValue
}

func newHistoryOptions() HistoryOptions {
	return HistoryOptions{
		Wait: time.Minute, MaxAge: 30 * 24 * time.Hour,
		LogLimit: resource.QuantityValue{Quantity: resource.MustParse("256Mi")}, MaxSize: resource.QuantityValue{Quantity: resource.MustParse("10Gi")},
	}
}

func (h *HistoryOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&h.Store, "history-store", h.Store, "Store for the history of ended Ray objects and the logs of their drivers: file:///FOLDER, s3://BUCKET?region=REGION or azblob://CONTAINER?storage_account=ACCOUNT. Credentials come from the environment. Needs the rights of config/components/history. Unset: no history.")
	fs.DurationVar(&h.Wait, "history-wait", h.Wait, "How long the end of an attempt and the deletion of a RayJob wait for the history store.")
	fs.Var(&h.LogLimit, "history-log-limit", "Largest log in the history. The middle of a larger one is cut.")
	fs.Var(&h.NodeLogs, "history-node-logs", "Most bytes of log files of Ray's nodes, head and workers, in the history of an attempt of a RayJob, 256 KiB from the end of each; 0: none.")
	fs.DurationVar(&h.MaxAge, "history-max-age", h.MaxAge, "How long the history of an object is kept; 0 means no limit.")
	fs.Var(&h.MaxSize, "history-max-size", "Most bytes of history of a namespace; the oldest is deleted. 0 means no limit.")
}

func (h *HistoryOptions) validate(refuse func(flag, format string, args ...any)) {
	if h.Wait <= 0 || h.Wait > 10*time.Minute {
		refuse("history-wait", "is %s, but must be above 0 and at most 10m", h.Wait)
	}
	if h.LogLimit.Value() < 1<<10 {
		refuse("history-log-limit", "is %s, but must be at least 1Ki", h.LogLimit.String())
	}
	if n := h.NodeLogs.Value(); n != 0 && n < archive.NodeLog {
		refuse("history-node-logs", "is %s, but must be 0 or at least 256Ki", h.NodeLogs.String())
	}
	if h.MaxAge < 0 {
		refuse("history-max-age", "is %s, but must not be negative", h.MaxAge)
	}
	if h.MaxSize.Sign() < 0 {
		refuse("history-max-size", "is %s, but must not be negative", h.MaxSize.String())
	}
}

// +kubebuilder:rbac:groups="",resources=events,verbs=list,roleName=raygate-operator-history

// addHistory opens the store and starts the writer and the retention; nil without a store.
func addHistory(ctx context.Context, mgr ctrl.Manager, o *Options) (*archive.Archive, error) {
	if o.History.Store == "" {
		return nil, nil
	}
	store, err := history.Open(ctx, o.History.Store, history.Limits{Log: o.History.LogLimit.Value()})
	if err != nil {
		return nil, err
	}
	to, err := connect(o, mgr.GetClient())
	if err != nil {
		return nil, err
	}
	a := archive.New(archive.Config{
		Store: store, Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: clock.RealClock{},
		Dashboards: dashboards.New(to, mgr.GetAPIReader(), clock.RealClock{}), Timeout: o.History.Wait,
		NodeLogs: o.History.NodeLogs.Value(),
	})
	old := &sweeper{store, history.Retention{Age: o.History.MaxAge, Size: o.History.MaxSize.Value()}}
	for _, r := range []manager.Runnable{a, old, podHandler(mgr, a.Pods)} {
		if err := mgr.Add(r); err != nil {
			return nil, fmt.Errorf("adding the history: %w", err)
		}
	}
	return a, nil
}

// sweepInterval is the time between two deletions of old history.
const sweepInterval = time.Hour

// sweeper deletes old history.
type sweeper struct {
	store     *history.Store
	retention history.Retention
}

// Start implements manager.Runnable. Only the leader runs it.
func (s *sweeper) Start(ctx context.Context) error {
	wait.JitterUntilWithContext(ctx, s.sweep, sweepInterval, 0.2, true)
	return nil
}

func (s *sweeper) sweep(ctx context.Context) {
	log := klog.FromContext(ctx).WithName("history")
	namespaces, err := s.store.Namespaces(ctx)
	if err != nil {
		log.Error(err, "Could not list the history")
		return
	}
	for _, namespace := range namespaces {
		swept, err := s.store.Sweep(ctx, namespace, time.Now(), s.retention)
		if err != nil {
			log.Error(err, "Could not delete old history", "namespace", namespace)
			continue
		}
		if swept.Deleted > 0 {
			log.Info("Deleted old history", "namespace", namespace, "deleted", swept.Deleted, "kept", swept.Kept, "bytes", swept.Bytes)
		}
	}
}
