package dashboardfake

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/raygate/raygate/pkg/dashboard"
)

// serve is Ray Serve of a Dashboard. The lock of the Dashboard protects it.
type serve struct {
	applications map[string]dashboard.ServeApplication
	capacity     *float64
	configs      []string
	held         bool // applications do not get beyond DEPLOYING by themselves
}

// Words of Ray Serve.
const (
	Deploying = "DEPLOYING"
	Serving   = "RUNNING"
)

// HoldApplications keeps applications that are deployed from then on in DEPLOYING. Without it they are RUNNING from the second query on.
func (d *Dashboard) HoldApplications(on bool) {
	d.change(func() { d.serve.held = on })
}

// SetApplication moves an application on. An unknown name is ignored.
func (d *Dashboard) SetApplication(name, status, message string) {
	d.change(func() {
		if a, ok := d.serve.applications[name]; ok {
			a.Status, a.Message = status, message
			d.serve.applications[name] = a
		}
	})
}

// ForgetApplications drops all applications, like a restart of a head without fault tolerance.
func (d *Dashboard) ForgetApplications() {
	d.change(func() { d.serve.applications, d.serve.capacity = nil, nil })
}

// Configs are the configurations that were accepted, in their order.
func (d *Dashboard) Configs() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.serve.configs)
}

// Capacity is the target capacity that was accepted last, 100 for none.
func (d *Dashboard) Capacity() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.serve.capacity == nil {
		return 100
	}
	return *d.serve.capacity
}

// ServeDetails implements dashboard.Client.
func (d *Dashboard) ServeDetails(ctx context.Context) (*dashboard.ServeDetails, error) {
	if err := d.begin(ctx, "ServeDetails"); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	details := &dashboard.ServeDetails{Applications: maps.Clone(d.serve.applications), TargetCapacity: d.serve.capacity}
	if details.Applications == nil {
		details.Applications = map[string]dashboard.ServeApplication{}
	}
	states := map[string]map[string]string{}
	for name, a := range d.serve.applications {
		states[name] = map[string]string{"status": a.Status, "message": a.Message}
		if a.Status == Deploying && !d.serve.held {
			a.Status = Serving
			d.serve.applications[name] = a
		}
	}
	text, err := json.Marshal(states)
	details.Answer = map[string]json.RawMessage{"applications": text}
	return details, err
}

// DeployServe implements dashboard.Client. A call whose answer is lost or hangs still takes effect.
func (d *Dashboard) DeployServe(ctx context.Context, config json.RawMessage) error {
	const call = "DeployServe"
	if err := d.begin(ctx, call); err != nil {
		return err
	}
	defer d.mu.Unlock()
	var wanted struct {
		Applications *[]json.RawMessage `json:"applications"`
		Capacity     *float64           `json:"target_capacity"`
	}
	if json.Unmarshal(config, &wanted) != nil || wanted.Applications == nil {
		return &dashboard.Error{Call: call, Kind: dashboard.ErrInvalid, Code: 400, Message: "applications: field required"}
	}
	next := map[string]dashboard.ServeApplication{}
	for _, text := range *wanted.Applications {
		app := struct {
			Name string `json:"name"`
		}{Name: "default"}
		if err := json.Unmarshal(text, &app); err != nil {
			return &dashboard.Error{Call: call, Kind: dashboard.ErrInvalid, Code: 400, Cause: err}
		}
		if _, twice := next[app.Name]; twice {
			return &dashboard.Error{Call: call, Kind: dashboard.ErrInvalid, Code: 400, Message: "application names are not unique"}
		}
		next[app.Name] = dashboard.ServeApplication{Status: Deploying, Config: slices.Clone(text)}
	}
	d.serve.applications, d.serve.capacity = next, wanted.Capacity
	d.serve.configs = append(d.serve.configs, string(config))
	if d.lost > 0 {
		d.lost--
		return &dashboard.Error{Call: call, Kind: dashboard.ErrUnavailable, Cause: context.DeadlineExceeded}
	}
	return nil
}
