package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/shipped"
)

// shippedRegistry is the value of --device-registry for the registry that comes with the operator.
const shippedRegistry = "shipped"

// registryPeriod is the interval at which a file is read.
const registryPeriod = 10 * time.Second

// deviceRegistry is the registry that diagnoses plan Pods with. The zero value has none.
type deviceRegistry struct {
	live *load.Live
	file *load.File // nil for the shipped registry
}

// open reads the registry for the first time.
func (d *deviceRegistry) open(source string) error {
	switch source {
	case "":
	case shippedRegistry:
		p, err := load.Registry(shipped.HAMi)
		if err != nil {
			return fmt.Errorf("the shipped registry of device families: %w", err)
		}
		d.live = load.NewLive(p)
	default:
		d.file = &load.File{Path: source, Every: registryPeriod, Clock: clock.RealClock{}}
		if err := d.file.Open(); err != nil {
			return fmt.Errorf("--device-registry: %w", err)
		}
		d.live = d.file.Live
	}
	return nil
}

// follow reads a file again until the context ends.
func (d *deviceRegistry) follow(ctx context.Context) {
	if d.file == nil {
		return
	}
	d.file.Reloaded = func(err error) {
		if err != nil {
			klog.FromContext(ctx).Error(err, "The registry of device families is at fault, the last good one stays in use")
			return
		}
		klog.FromContext(ctx).Info("Read the registry of device families again", "registry", d.live.Program().Hash)
	}
	go func() { _ = d.file.Start(ctx) }()
}
