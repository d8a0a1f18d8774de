package main

import (
	"github.com/raygate/raygate/operator/internal/devicequota"
	"github.com/raygate/raygate/operator/internal/webhook"
	"github.com/raygate/raygate/pkg/raydevices"
)

// forWebhooks is what the webhooks of Ray objects need of it, nil if it is off. Without a quota the engine is nil.
func (d *DeviceOptions) forWebhooks(engine *devicequota.Engine) *webhook.Devices {
	if d.live == nil {
		return nil
	}
	w := &webhook.Devices{Registry: d.live, Options: raydevices.Options{Facts: d.AutoscalerFacts}}
	if engine != nil {
		w.Quotas = engine
	}
	return w
}
