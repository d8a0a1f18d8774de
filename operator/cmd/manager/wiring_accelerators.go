package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/raygate/raygate/operator/internal/build/resources"
	"github.com/raygate/raygate/operator/internal/metrics"
)

// addAccelerators counts the seconds of requested accelerators while this process is the leader.
func addAccelerators(mgr ctrl.Manager, o *Options) error {
	if !o.Metrics || !o.MetricsAccelerators {
		return nil
	}
	m := metrics.NewAccelerators(mgr.GetClient(), resources.Accelerators, clock.RealClock{}, o.MetricsPerObject)
	if err := ctrlmetrics.Registry.Register(m); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		pods, err := mgr.GetCache().GetInformer(ctx, &corev1.Pod{})
		if err != nil {
			return fmt.Errorf("watching Pods: %w", err)
		}
		m.Begin()
		if _, err := pods.AddEventHandler(m.Handler(ctx)); err != nil {
			return fmt.Errorf("watching Pods: %w", err)
		}
		<-ctx.Done()
		return nil
	}))
}
