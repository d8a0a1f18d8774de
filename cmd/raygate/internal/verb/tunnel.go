package verb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
	"github.com/raygate/raygate/cmd/raygate/internal/tunnel"
)

// usualPorts are the local ports for names of ports, if they are free.
var usualPorts = map[string]int{
	rayv1.PortClient: int(rayv1.DefaultClientPort), rayv1.PortDashboard: int(rayv1.DefaultDashboardPort), rayv1.PortServe: int(rayv1.DefaultServePort),
	"jupyter": 8888, "notebook": 8888,
}

// commandPatience is how long a command may take to end after Ctrl-C.
const commandPatience = 10 * time.Second

// localPort leads to a port of a head.
type localPort struct {
	remote   string // number or name
	local    int    // 0 for any
	listener net.Listener
}

func (p *localPort) address() string { return p.listener.Addr().String() }

// leadsTo reports whether the port of the head has this name, or the usual number of that name.
func (p *localPort) leadsTo(name string) bool {
	return p.remote == name || p.remote == strconv.Itoa(usualPorts[name])
}

// parsePort reads [LOCAL:]PORT.
func parsePort(text string) (*localPort, error) {
	local, remote, found := strings.Cut(text, ":")
	if !found {
		return &localPort{remote: text}, nil
	}
	n, err := strconv.ParseUint(local, 10, 16)
	if err != nil || remote == "" {
		return nil, fmt.Errorf("--port %s: use [LOCAL:]PORT, where LOCAL is a number, and PORT a number or a name", text)
	}
	return &localPort{remote: remote, local: int(n)}, nil
}

// listen takes the local port that is asked for, or else the usual one if it is free, or else any.
func (p *localPort) listen() (err error) {
	at := func(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
	if p.local != 0 {
		p.listener, err = net.Listen("tcp", at(p.local))
		return err
	}
	number, _ := strconv.ParseUint(p.remote, 10, 16)
	if p.listener, err = net.Listen("tcp", at(cmp.Or(usualPorts[p.remote], int(number)))); err != nil {
		p.listener, err = net.Listen("tcp", at(0))
	}
	return err
}

type sessionCommand struct {
	*session
	gateway *tunnel.Gateway
	cluster string
	ports   []string
}

func newSession(flags *connect.Flags) *cobra.Command {
	c := &sessionCommand{}
	cmd := &cobra.Command{
		Use:   "session (CLUSTER | raycluster/CLUSTER) [-- COMMAND...]",
		Short: "Open local ports to Ray Client and the dashboard of a cluster",
		Long: `Open ports of this machine that lead through the gateway to the head of a cluster: to Ray
Client and the dashboard, or to the ports of --port. They accept connections from this
machine only, until Ctrl-C.

With a command, the session lasts as long as the command and ends with its exit code.
The command gets the addresses in $RAY_ADDRESS and $RAY_API_SERVER_ADDRESS.

The cluster has to declare the port in its head container or head Service. You need "create"
of services/proxy. Python and Ray must have the versions of the cluster for Ray Client.`,
		Example: `  raygate session demo
  raygate session demo -- python train.py        # with ray.init() in it
  raygate session demo --port client --port 9999:jupyter`,
		Args: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); len(args) == 0 || n == 0 || n < 0 && len(args) > 1 || n > 1 {
				return errors.New("name one cluster, and put a command behind --")
			}
			return nil
		},
		RunE: run(flags, func(ctx context.Context, s *session, args []string) error {
			c.session = s
			return c.run(ctx, args)
		}),
	}
	cmd.Flags().StringArrayVar(&c.ports, "port", nil, "[LOCAL:]PORT: number or name of a port of the head, and the local port; repeatable (default client and dashboard)")
	addURL(cmd, flags)
	cmd.ValidArgsFunction = completeOne(flags, raygate.ClusterKind)
	return cmd
}

// addURL adds the flag for the gateway's REST port.
func addURL(cmd *cobra.Command, flags *connect.Flags) {
	cmd.Flags().StringVar(&flags.URL, "url", "", "address of the gateway's REST port: HOST[:PORT], optionally with https:// or http:// (default $"+connect.EnvURL+", or port 8888 of the host of --server)")
}

func (c *sessionCommand) run(ctx context.Context, args []string) error {
	ref, err := namedOne("raycluster", args[0])
	if err != nil {
		return err
	}
	if ref.Kind.Kind != raygate.ClusterKind {
		return fmt.Errorf("%s is not a cluster", ref)
	}
	c.cluster = ref.Name
	u, config, err := c.flags.REST()
	if err != nil {
		return err
	}
	c.gateway = tunnel.New(u, config)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	open, err := c.open(ctx)
	if err != nil || c.failed > 0 {
		return err
	}
	for _, p := range open {
		dial := func(ctx context.Context) (net.Conn, error) {
			return c.gateway.Dial(ctx, c.namespace, c.cluster, p.remote)
		}
		go tunnel.Serve(ctx, p.listener, dial, func(err error) { c.note(p, err) })
	}
	if len(args) > 1 {
		return c.command(ctx, args[1:], open)
	}
	for _, p := range open {
		fmt.Fprintln(c.out, describe(p))
	}
	c.progress.Note("Ctrl-C ends the session.")
	<-ctx.Done()
	return nil
}

// note shows why a tunnel failed.
func (c *sessionCommand) note(p *localPort, err error) {
	c.progress.Note("port " + p.remote + ": " + output.Clean(raygate.ProblemOf(err).Message))
}

func describe(p *localPort) string {
	switch {
	case p.leadsTo(rayv1.PortClient):
		return fmt.Sprintf("Ray Client  ray.init(\"ray://%s\")", p.address())
	case p.leadsTo(rayv1.PortDashboard):
		return "Dashboard   http://" + p.address()
	default:
		return fmt.Sprintf("%-11s %s", p.remote, p.address())
	}
}

// open tries each port, and listens for those that may be used. A port at which nothing answers yet may be used. A cluster need not declare the default
// ports, as long as it declares one.
func (c *sessionCommand) open(ctx context.Context) ([]*localPort, error) {
	wanted := c.ports
	if len(wanted) == 0 {
		wanted = []string{rayv1.PortClient, rayv1.PortDashboard}
	}
	var open []*localPort
	var skipped error
	for _, text := range wanted {
		p, err := parsePort(text)
		if err != nil {
			return nil, err
		}
		err = c.try(ctx, p)
		switch code := raygate.ProblemOf(err).Code; {
		case err == nil:
		case code == codes.Unavailable:
			c.note(p, err)
		case code == codes.InvalidArgument && len(c.ports) == 0:
			skipped = err
			continue
		default:
			c.fail("raycluster/"+c.cluster, err, ExitFailed)
			return nil, nil
		}
		if err := p.listen(); err != nil {
			return nil, err
		}
		open = append(open, p)
	}
	if len(open) == 0 {
		c.fail("raycluster/"+c.cluster, skipped, ExitFailed)
	}
	return open, nil
}

// try opens a tunnel to a port and closes it.
func (c *sessionCommand) try(ctx context.Context, p *localPort) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err := c.gateway.Dial(ctx, c.namespace, c.cluster, p.remote)
	return err
}

// command runs a program with the addresses of the session in its environment.
func (c *sessionCommand) command(ctx context.Context, args []string, open []*localPort) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = c.in, c.out, c.err, os.Environ()
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, commandPatience
	for _, name := range [][2]string{{rayv1.PortClient, "RAY_ADDRESS=ray://"}, {rayv1.PortDashboard, "RAY_API_SERVER_ADDRESS=http://"}} {
		if i := slices.IndexFunc(open, func(p *localPort) bool { return p.leadsTo(name[0]) }); i >= 0 {
			cmd.Env = append(cmd.Env, name[1]+open[i].address())
		}
	}
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return &Failed{Code: exit.ExitCode()}
	}
	return err
}
