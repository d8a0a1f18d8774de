package main

import (
	"github.com/raygate/raygate/operator/internal/webhook"
	"github.com/raygate/raygate/pkg/raydevices"
)

// forWebhooks is what the webhooks of Ray objects need of it, nil if it is off.
func (d *DeviceOptions) forWebhooks() *webhook.Devices {
	if d.live == nil {
		return nil
	}
	return &webhook.Devices{Registry: d.live, Options: raydevices.Options{Facts: d.AutoscalerFacts}}
}
