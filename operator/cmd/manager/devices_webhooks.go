package main

import (
	"github.com/raygate/raygate/operator/internal/devicequota"
	"github.com/raygate/raygate/operator/internal/webhook"
	"github.com/raygate/raygate/pkg/raydevices"
)

// forWebhooks returns the device settings of the webhooks for Ray objects; nil if devices are off. The engine is nil without
// quotas.
func (d *DeviceOptions) forWebhooks(engine *devicequota.Engine) *webhook.Devices {
	if d.live == nil {
		return nil
	}
	return &webhook.Devices{Registry: d.live, Options: raydevices.Options{Facts: d.AutoscalerFacts}, Quotas: engine}
}
