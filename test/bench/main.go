package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/go-logr/logr"
)

// Options are the flags.
type Options struct {
	// Scenarios to run, in this order.
	Scenarios []string
	// Bin is the folder with raygate-local, raygate-operator and raygate-apiserver.
	Bin string
	// CRDs is the folder with the CRD manifests to install.
	CRDs string
	// Output is "table" or "json".
	Output string
	// Rounds is how often the scenarios of the operator repeat each pair of measurements.
	Rounds int
	// Clusters is the number of RayClusters of the scenario clusters.
	Clusters int
	// Workers is the largest number of workers in the scenario scale.
	Workers int
	// IdleClusters is the number of RayClusters of the scenario idle, and IdleWorkers that of workers of each.
	IdleClusters, IdleWorkers int
	// Jobs is the number of RayJobs of the scenario jobs.
	Jobs int
	// Services is the number of idle RayServices in the scenario services, and Requests the number of requests before that.
	Services, Requests int
	// BigWorkers is the largest number of workers of the large cluster in the scenario starve.
	BigWorkers int
	// Calls is the number of gets of each kind in the scenario gateway; the numbers of lists and creates derive from it.
	Calls int
	// Parallel is how many requests the benchmark has in flight when it creates objects directly.
	Parallel int
	// Timeout limits each scenario.
	Timeout time.Duration
	// Keep leaves the folder with the logs of all programs behind.
	Keep bool
	// Profiles is the folder for profiles of the API server in the scenario crdcost; empty means that none are taken.
	Profiles string
	// OperatorFlags are passed to the operator, behind the usual ones.
	OperatorFlags []string
	// OperatorCommand is a command of the shell that starts another operator in its place, which finds the API server by $KUBECONFIG; empty for none.
	OperatorCommand string
}

type scenario struct {
	name string
	run  func(context.Context, *session) error
	// audited makes the API server write its audit log.
	audited bool
	// asked is set if the scenario runs only when it is asked for.
	asked bool
}

// scenarios are in the order in which they run; each has its own control plane.
var scenarios = []scenario{
	{name: "clusters", run: clusters},
	{name: "scale", run: scale},
	{name: "writes", run: writes},
	{name: "webhookdelay", run: webhookdelay},
	{name: "starve", run: starve},
	{name: "idle", run: idle},
	{name: "jobs", run: jobs},
	{name: "services", run: services},
	{name: "ledger", run: ledger, audited: true},
	{name: "crdcost", run: crdcost},
	{name: "peer", run: peer, asked: true},
	{name: "gateway", run: gateway},
	{name: "webhooks", run: webhooks},
	{name: "history", run: past},
}

// AddFlags adds the flags to fs, with their defaults.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	names := make([]string, 0, len(scenarios))
	for _, s := range scenarios {
		if !s.asked {
			names = append(names, s.name)
		}
	}
	fs.StringSliceVar(&o.Scenarios, "scenario", names, "what to measure; peer runs only if it is asked for")
	fs.StringVar(&o.Bin, "bin", "bin", "folder with raygate-local, raygate-operator and raygate-apiserver")
	fs.StringVar(&o.CRDs, "crds", "operator/config/crd/bases", "folder with the CRDs to install")
	fs.StringVarP(&o.Output, "output", "o", "table", "table or json")
	fs.IntVar(&o.Rounds, "rounds", 3, "pairs of measurements in the scenarios clusters, starve, peer and crdcost; scale and webhookdelay do one less, jobs almost twice as many")
	fs.IntVar(&o.Clusters, "clusters", 100, "RayClusters in the scenario clusters; the numbers of the scenario peer are in proportion")
	fs.IntVar(&o.Workers, "workers", 1000, "workers at the end of the scenario scale")
	fs.IntVar(&o.IdleClusters, "idle-clusters", 1000, "RayClusters in the scenario idle")
	fs.IntVar(&o.IdleWorkers, "idle-workers", smallWorkers, "workers of each of them")
	fs.IntVar(&o.Jobs, "jobs", 200, "RayJobs in the scenario jobs")
	fs.IntVar(&o.Services, "services", 100, "idle RayServices in the scenario services")
	fs.IntVar(&o.Requests, "requests", 20000, "requests to RayServices in the scenario services, at least")
	fs.IntVar(&o.BigWorkers, "big-workers", 2000, "workers at the end of the large cluster in the scenario starve")
	fs.IntVar(&o.Calls, "calls", 400, "gets in the scenario gateway; the numbers of lists and creates follow from it, as do those of the scenario webhooks")
	fs.IntVar(&o.Parallel, "parallel", 32, "requests in flight when the benchmark creates objects directly")
	fs.DurationVar(&o.Timeout, "timeout", 8*time.Minute, "limit of each scenario; idle, starve, services and ledger have twice as long, jobs and peer, which run many processes, four times")
	fs.BoolVar(&o.Keep, "keep", false, "keep the logs of all programs and tell where they are")
	fs.StringVar(&o.Profiles, "profiles", "", "folder for profiles of the API server, which the scenario crdcost then takes for 10 s of each kind")
	fs.StringArrayVar(&o.OperatorFlags, "operator-flag", nil, "a flag for the operator, such as --reconcile-concurrency=30; may be repeated")
	fs.StringVar(&o.OperatorCommand, "operator-command", "", "a command of the shell that starts another operator, which finds the API server by $KUBECONFIG, for the scenarios peer and ledger; see --crds")
}

// Validate returns an error for each invalid flag.
func (o *Options) Validate() error {
	var problems []error
	for _, name := range o.Scenarios {
		if !slices.ContainsFunc(scenarios, func(s scenario) bool { return s.name == name }) {
			problems = append(problems, fmt.Errorf("--scenario: there is no %q", name))
		}
	}
	if o.Output != "table" && o.Output != "json" {
		problems = append(problems, fmt.Errorf("--output: %q is neither table nor json", o.Output))
	}
	for flag, n := range map[string]int{"rounds": o.Rounds, "clusters": o.Clusters, "workers": o.Workers - 1, "idle-clusters": o.IdleClusters, "idle-workers": o.IdleWorkers + 1, "jobs": o.Jobs - 3, "services": o.Services, "requests": o.Requests - 99, "big-workers": o.BigWorkers - 1, "calls": o.Calls, "parallel": o.Parallel} {
		if n < 1 {
			problems = append(problems, fmt.Errorf("--%s is too small", flag))
		}
	}
	return errors.Join(problems...)
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == bareCommand {
		if err := serveBare(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	var o Options
	fs := pflag.NewFlagSet("bench", pflag.ContinueOnError)
	o.AddFlags(fs)
	if err := fs.Parse(os.Args[1:]); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return
		}
		os.Exit(2)
	}
	ctrllog.SetLogger(logr.Discard())
	// The terminal sends SIGINT to the children as well; they are stopped in any case.
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures, prints all results even if a scenario fails, and returns all errors.
func run(ctx context.Context, o Options, out, progress io.Writer) error {
	if err := o.Validate(); err != nil {
		return err
	}
	var report Report
	var problems []error
	for _, s := range scenarios {
		if !slices.Contains(o.Scenarios, s.name) {
			continue
		}
		if err := runScenario(ctx, s, o, &report, progress); err != nil {
			problems = append(problems, fmt.Errorf("scenario %s: %w", s.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	print := report.WriteTable
	if o.Output == "json" {
		print = report.WriteJSON
	}
	if err := print(out); err != nil {
		problems = append(problems, fmt.Errorf("printing the report: %w", err))
	}
	return errors.Join(problems...)
}

func runScenario(ctx context.Context, s scenario, o Options, report *Report, progress io.Writer) (err error) {
	limit := o.Timeout
	if s.name == "idle" || s.name == "starve" || s.name == "services" || s.name == "ledger" {
		limit *= 2
	}
	if s.name == "jobs" || s.name == "peer" {
		limit *= 4
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	begin := time.Now()
	logf := func(format string, args ...any) {
		fmt.Fprintf(progress, "%s %5.1f s: %s\n", s.name, time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
	logf("starting a control plane")
	ses, err := newSession(ctx, s, o, report, logf)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			logf("%s", strings.TrimSpace(ses.lastLogLines()))
		}
		ses.close()
	}()
	return s.run(ctx, ses)
}
