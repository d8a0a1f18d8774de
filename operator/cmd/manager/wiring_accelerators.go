package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
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
	return mgr.Add(podHandler(mgr, func(ctx context.Context) toolscache.ResourceEventHandler {
		m.Begin()
		return m.Handler(ctx)
	}))
}

// podHandler returns a runnable that passes events about Pods to a handler while this process is the leader.
func podHandler(mgr ctrl.Manager, begin func(context.Context) toolscache.ResourceEventHandler) manager.Runnable {
	return manager.RunnableFunc(func(ctx context.Context) error {
		pods, err := mgr.GetCache().GetInformer(ctx, &corev1.Pod{})
		if err != nil {
			return fmt.Errorf("watching Pods: %w", err)
		}
		if _, err := pods.AddEventHandler(begin(ctx)); err != nil {
			return fmt.Errorf("watching Pods: %w", err)
		}
		<-ctx.Done()
		return nil
	})
}
