package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/raygate/raygate/localcluster/internal/controlplane"
	"github.com/raygate/raygate/localcluster/internal/ports"
	"github.com/raygate/raygate/localcluster/internal/proc"
	"github.com/raygate/raygate/localcluster/internal/simnode"
)

type controlPlaneOptions struct {
	dir            string
	without        []string
	nodes          int
	securePort     int
	auditPolicy    string
	authentication string
	profiling      bool
	exitWithParent bool
}

func controlPlaneCommand() *cobra.Command {
	var o controlPlaneOptions
	cmd := &cobra.Command{
		Use:   "control-plane --dir DIR",
		Short: "Run only a control plane and simulated nodes in the foreground, for tests",
		Long: `Runs a control plane in the foreground until SIGINT or SIGTERM, with all data, logs and the kubeconfig below DIR.
When it is ready it writes DIR/ready, a JSON object with the paths and addresses. etcd does not wait for the disk.

SIGUSR2 kills the API server and leaves it down; SIGUSR1 kills it if it runs and starts it again on the same port,
after which "generation" in DIR/ready is one more.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runControlPlane(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.dir, "dir", "", "folder for everything (required)")
	f.StringSliceVar(&o.without, "without", nil, "parts to leave out: "+strings.Join(optional, ", "))
	f.IntVar(&o.nodes, "nodes", 2, "number of simulated nodes")
	f.IntVar(&o.securePort, "secure-port", 0, "port of the API server; 0 chooses a free one")
	f.StringVar(&o.auditPolicy, "audit-policy", "", "path of an audit policy of Kubernetes, by which the API server writes logs/audit.log")
	f.StringVar(&o.authentication, "authentication-config", "", "path of an AuthenticationConfiguration of Kubernetes, which the API server reads again when it changes")
	f.BoolVar(&o.profiling, "profiling", false, "serve /debug/pprof of the API server")
	f.BoolVar(&o.exitWithParent, "exit-with-parent", false, "stop when the process that started this ends, or when standard input, if it is a pipe, is closed")
	_ = cmd.MarkFlagRequired("dir")
	return cmd
}

// optional are the parts that can be left out. Without nodes there is no ray part either.
var optional = []string{"scheduler", "controller-manager", "nodes", "ray"}

// ready is the content of DIR/ready.
type ready struct {
	Kubeconfig string `json:"kubeconfig"`
	Server     string `json:"server"`
	Etcd       string `json:"etcd"`
	PID        int    `json:"pid"`
	// Generation counts how often the API server was started.
	Generation int `json:"generation"`
}

// write replaces the file in one step.
func (r ready) write(path string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding ready file: %w", err)
	}
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing ready file: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing ready file: %w", err)
	}
	return nil
}

func (o controlPlaneOptions) validate() error {
	if err := checkNodes(o.nodes); err != nil {
		return err
	}
	for _, w := range o.without {
		if !slices.Contains(optional, w) {
			return fmt.Errorf("--without: %q is none of %s", w, strings.Join(optional, ", "))
		}
	}
	return nil
}

// has reports whether an optional part is wanted.
func (o controlPlaneOptions) has(part string) bool {
	return !slices.Contains(o.without, part) && (part != "nodes" || o.nodes > 0)
}

func runControlPlane(ctx context.Context, o controlPlaneOptions) error {
	if err := o.validate(); err != nil {
		return err
	}
	p, err := findPaths(o.dir)
	if err != nil {
		return err
	}
	if err := p.missing(false); err != nil {
		return err
	}
	restart, kill := make(chan os.Signal, 4), make(chan os.Signal, 4)
	signal.Notify(restart, syscall.SIGUSR1)
	signal.Notify(kill, syscall.SIGUSR2)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.exitWithParent {
		go watchParent(cancel)
	}
	s := &serving{options: o, paths: p, readyFile: filepath.Join(p.data, "ready"), out: &progress{out: os.Stdout}}
	if err := os.Remove(s.readyFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing old ready file: %w", err)
	}
	begin := time.Now()
	defer s.stop()
	defer cancel() // before stop
	if err := s.start(ctx); err != nil {
		return stopped(ctx, err)
	}
	if err := s.ready.write(s.readyFile); err != nil {
		return err
	}
	defer os.Remove(s.readyFile)
	s.out.printf("ready after %.1f s: %s, kubeconfig %s", time.Since(begin).Seconds(), s.cp.Server, s.cp.Kubeconfig)
	return s.untilEnd(ctx, restart, kill)
}

// serving is a control plane with its nodes.
type serving struct {
	options   controlPlaneOptions
	paths     paths
	readyFile string
	out       *progress

	group  proc.Group
	ground *ground // nil if nothing of the Pods is real
	cp     *controlplane.ControlPlane
	ready  ready
	wait   func() // waits for the simulated nodes, which end with ctx; nil before they start
}

// start starts the control plane, and the simulated nodes if they are wanted.
func (s *serving) start(ctx context.Context) (err error) {
	nodes := s.options.has("nodes")
	if nodes && s.options.has("ray") {
		if s.ground, err = newGround(s.paths, s.out); err != nil {
			return err
		}
	}
	if err := s.startOnFreePorts(ctx); err != nil || !nodes {
		return err
	}
	sim, err := simnode.New(s.cp.Config, s.options.nodes, s.out.printf)
	if err != nil {
		return err
	}
	if s.ground != nil {
		if err := s.ground.settle(s.cp.Config, sim); err != nil {
			return err
		}
	}
	s.wait, err = sim.Start(ctx)
	return err
}

// stop ends the parts that start started. The context of start must have ended.
func (s *serving) stop() {
	if s.wait != nil {
		s.wait()
	}
	if s.ground != nil {
		s.ground.close()
	}
	s.group.StopAll(s.out.printf)
}

// untilEnd handles signals until ctx ends or a part crashes.
func (s *serving) untilEnd(ctx context.Context, restart, kill <-chan os.Signal) error {
	for {
		select {
		case <-ctx.Done():
			s.out.printf("stopping")
			return nil
		case part := <-s.group.Crashes():
			tellCrash(s.out, part)
			return errReported
		case <-kill:
			s.out.printf("killing the API server, as asked")
			s.cp.KillAPIServer()
		case <-restart:
			s.out.printf("killing and starting the API server, as asked")
			if err := s.cp.RestartAPIServer(ctx); err != nil {
				return stopped(ctx, err)
			}
			s.ready.Generation++
			if err := s.ready.write(s.readyFile); err != nil {
				return err
			}
			s.out.printf("API server is back")
		}
	}
}

// startOnFreePorts retries with other ports if another process, such as a parallel test, takes a chosen port first.
func (s *serving) startOnFreePorts(ctx context.Context) error {
	o := s.options
	for attempt := 1; ; attempt++ {
		var c ports.Chooser
		var chosen [3]int
		for i, want := range []int{o.securePort, 0, 0} {
			port, preferred, err := c.Choose(want)
			if err != nil {
				return err
			}
			if want != 0 && !preferred {
				return fmt.Errorf("--secure-port: port %d is taken", want)
			}
			chosen[i] = port
		}
		opts := controlplane.Options{
			Dir: s.paths.data, Bin: s.paths.k8s(),
			Ports:                    controlplane.Ports{Secure: chosen[0], EtcdClient: chosen[1], EtcdPeer: chosen[2]},
			Unsafe:                   true,
			Egress:                   s.ground.socket(),
			AuditPolicy:              o.auditPolicy,
			AuthenticationConfig:     o.authentication,
			Profiling:                o.profiling,
			WithoutScheduler:         slices.Contains(o.without, "scheduler"),
			WithoutControllerManager: slices.Contains(o.without, "controller-manager"),
			Grace:                    2 * time.Second,
			Progress:                 s.out.printf,
		}
		cp, err := controlplane.Start(ctx, &s.group, opts)
		if err == nil {
			s.cp, s.ready = cp, ready{
				Kubeconfig: cp.Kubeconfig, Server: cp.Server,
				Etcd: fmt.Sprintf("http://127.0.0.1:%d", chosen[1]),
				PID:  os.Getpid(), Generation: 1,
			}
			return nil
		}
		if attempt == 3 || !errors.Is(err, controlplane.ErrPortTaken) {
			return err
		}
		s.out.printf("%v; trying other ports", err)
		s.group.StopAll(s.out.printf)
		for len(s.group.Crashes()) > 0 {
			<-s.group.Crashes() // from the previous attempt
		}
	}
}

// stopped drops an error that results from a requested stop.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // see above
	}
	return err
}

func tellCrash(out *progress, part *proc.Process) {
	out.printf("%s ended by itself (%s); the end of %s:", part.Name, part.Exit(), part.Log)
	for _, line := range part.Tail(20) {
		out.plain("    " + line)
	}
	out.printf("stopping the rest")
}

// watchParent calls stop when the parent process ends. If standard input is a pipe, it also calls stop when the pipe is closed,
// which detects the end of a process further up.
func watchParent(stop func()) {
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
	}
	parent := os.Getppid()
	for os.Getppid() == parent {
		time.Sleep(200 * time.Millisecond)
	}
	stop()
}
