package verb

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
)

const (
	// maxAsked is how many dashboards are asked at once.
	maxAsked = 8
	// maxNodes is the longest answer of a dashboard in bytes, which has some kilobytes for each node.
	maxNodes = 64 << 20
)

// use is what the nodes of a cluster use now. known is false if the dashboard does not answer.
type use struct {
	known              bool
	cpus, usedCPUs     float64
	gpus, usedGPUs     float64
	memory, usedMemory int64 // bytes
}

// nodes is the part of Ray's answer about nodes that is shown. Fields of dead nodes are empty.
type nodes struct {
	Data struct {
		Summary []struct {
			CPU  float64   `json:"cpu"`  // percent of all CPUs
			CPUs []float64 `json:"cpus"` // logical and physical ones
			Mem  []float64 `json:"mem"`  // bytes in all, free bytes, percent, used bytes
			GPUs []struct {
				Utilization *float64 `json:"utilizationGpu"` // percent; unknown for some devices
			} `json:"gpus"`
		} `json:"summary"`
	} `json:"data"`
}

func useOf(answer nodes) *use {
	u := &use{known: true}
	for _, n := range answer.Data.Summary {
		if len(n.CPUs) > 0 {
			u.cpus, u.usedCPUs = u.cpus+n.CPUs[0], u.usedCPUs+n.CPUs[0]*n.CPU/100
		}
		if len(n.Mem) > 3 {
			u.memory, u.usedMemory = u.memory+int64(n.Mem[0]), u.usedMemory+int64(n.Mem[3])
		}
		for _, gpu := range n.GPUs {
			if gpu.Utilization != nil {
				u.gpus, u.usedGPUs = u.gpus+1, u.usedGPUs+*gpu.Utilization/100
			}
		}
	}
	return u
}

// columns returns CPUs, GPUs and memory.
func (u *use) columns() []string {
	share := func(used, all float64) string {
		if all == 0 {
			return "-"
		}
		return fmt.Sprintf("%.0f%%", 100*used/all)
	}
	if !u.known || u.memory == 0 {
		return []string{share(u.usedCPUs, u.cpus), share(u.usedGPUs, u.gpus), "-"}
	}
	mebibytes := func(n int64) string { return resource.NewQuantity(n>>20<<20, resource.BinarySI).String() }
	return []string{share(u.usedCPUs, u.cpus), share(u.usedGPUs, u.gpus), mebibytes(u.usedMemory) + "/" + mebibytes(u.memory)}
}

// tree returns the JSON: CPUs and GPUs in use, and bytes.
func (u *use) tree() map[string]any {
	return map[string]any{"cpus": u.usedCPUs, "gpus": u.usedGPUs, "memoryBytes": u.usedMemory, "memoryTotalBytes": u.memory}
}

// addUse asks the dashboards of the clusters that are ready. One that does not answer is no failure.
func addUse(ctx context.Context, s *session, demands []demand) error {
	base, config, err := s.flags.REST()
	if err != nil {
		return err
	}
	client := connect.HTTPClient(config)
	places := make(chan struct{}, maxAsked)
	var asked sync.WaitGroup
	for i := range demands {
		d := &demands[i]
		d.use = &use{}
		if d.state != "ready" {
			continue
		}
		asked.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if answer, err := askNodes(ctx, client, base, config, d); err == nil {
				d.use = useOf(answer)
			}
		})
	}
	asked.Wait()
	return nil
}

// askNodes asks the dashboard of a cluster about its nodes.
func askNodes(ctx context.Context, client *http.Client, base *url.URL, config raygate.Config, d *demand) (answer nodes, err error) {
	u := base.JoinPath("apis/v2/namespaces", d.namespace, "clusters", d.name, "dashboard/nodes")
	u.RawQuery = "view=summary"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return answer, err
	}
	if r.Header, err = connect.Header(ctx, config); err != nil {
		return answer, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return answer, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	return answer, json.NewDecoder(io.LimitReader(resp.Body, maxNodes)).Decode(&answer)
}
