package controlplane

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// togetherVariable names the folder of control planes that packages share, one in each subfolder.
const togetherVariable = "RAYGATE_TEST_CONTROL_PLANES"

// together are the control planes that packages share, by name.
var together = map[string]Options{
	"light": {CRDs: LightCRDs, Nodes: -1, WithoutScheduler: true},
	"bare":  {CRDs: FullCRDs, Nodes: -1, WithoutScheduler: true},
}

// attach returns the control plane that packages with these options share; nil if there is none.
func attach(o Options) (*Env, error) {
	root := os.Getenv(togetherVariable)
	if root == "" || o.Own {
		return nil, nil
	}
	for name, offered := range together {
		if offered != o {
			continue
		}
		e := newEnv(filepath.Join(root, name), o)
		e.attached = true
		r, ok := e.readReady()
		if !ok {
			return nil, fmt.Errorf("the control plane %s that packages share is not ready", e.Dir)
		}
		return e, e.use(r)
	}
	return nil, nil
}

// Together starts the control planes that packages share, and returns the environment variable, as NAME=VALUE, by which test processes find them.
func Together() (variable string, stop func(), err error) {
	root, err := os.MkdirTemp("", "raygate-controlplanes-")
	if err != nil {
		return "", nil, fmt.Errorf("making folder for control planes: %w", err)
	}
	var starting errgroup.Group
	started := make(chan *Env, len(together))
	for name, o := range together {
		starting.Go(func() error {
			e, err := startIn(filepath.Join(root, name), o)
			if err == nil {
				started <- e
			}
			return err
		})
	}
	err = starting.Wait()
	close(started)
	stop = func() {
		for e := range started {
			e.Stop()
		}
		_ = os.RemoveAll(root)
	}
	if err != nil {
		stop()
		return "", nil, err
	}
	return togetherVariable + "=" + root, stop, nil
}
