package pod

import (
	"strconv"

	"github.com/raygate/raygate/pkg/devices/claims"
	"github.com/raygate/raygate/pkg/devices/raycount"
)

// addClaims adds the devices of the Ray container's ResourceClaims to what params has from limits. Parameters in own take precedence. If
// the number of devices is known only after their allocation, it sets no parameter: Ray then counts the devices that it sees.
func (n *node) addClaims(params, own map[string]string) {
	d := n.o.Claims[n.group]
	if d == nil {
		return
	}
	if _, set := own[paramGPUs]; !set {
		addClaimedGPUs(params, d)
	}
	users, _ := raycount.ParseResources(own[paramResources])
	sum, ok := raycount.ParseResources(params[paramResources])
	if !ok {
		return
	}
	given := d.Resources(users)
	for name, amount := range given {
		sum[name] += float64(amount)
	}
	if len(given) > 0 {
		params[paramResources] = quoteResources(sum)
	}
}

func addClaimedGPUs(params map[string]string, d *claims.Devices) {
	switch gpus := d.Ray[claims.GPU]; {
	case d.Varies[claims.GPU], d.Opaque && params[paramGPUs] == "0":
		delete(params, paramGPUs)
	case gpus > 0:
		others, _ := strconv.ParseInt(params[paramGPUs], 10, 64)
		params[paramGPUs] = strconv.FormatInt(others+gpus, 10)
	}
}
