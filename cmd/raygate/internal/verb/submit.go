package verb

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
	"github.com/raygate/raygate/cmd/raygate/internal/submit"
)

// Exit codes of submit beside those of the job.
const (
	// ExitNotRun: the job could not be run, or raygate could not find out how it ended.
	ExitNotRun = 125
	// exitInterrupted is the exit code after Ctrl-C, as in shells.
	exitInterrupted = 130
)

type submitCommand struct {
	submit.Options
	cluster        string
	folder         string // the working directory to upload; empty for none
	runtimeEnvFile string
	resources      map[string]string
	following
	noWake    bool
	dry       dryRun
	output    output.Flags
	ofCluster pflag.FlagSet // the flags that make no sense for a cluster that runs
}

func newSubmit(flags *connect.Flags) *cobra.Command {
	c := &submitCommand{}
	cmd := &cobra.Command{
		Use:   "submit [FOLDER] [flags] -- COMMAND",
		Short: "Run a command as a job, print its log, and end as it ends",
		Long: `Run a command as a Ray job on a running cluster, or as a RayJob with a new cluster, which
is deleted after the job. The command prints the job's log to standard output, and
progress to standard error.

A single word after -- is a shell command; several words are a program and its arguments.

FOLDER is uploaded and becomes the working directory of the command, without the files that
.gitignore and .rayignore name. A folder that has not changed is not sent again.

A cluster that was suspended because it was idle or old, or by its schedule, is resumed. The
command waits until it is ready, for at most 10 minutes.

Ctrl-C asks whether to stop the job; if not, the job keeps running. Without a terminal it
prints the command that stops the job, or stops the job with --stop-on-interrupt.

The exit code is that of the command. Other codes: 1 the job failed with an unknown code,
125 it did not run or its result is unknown, 130 interrupted, 2 wrong use.`,
		Example: `  # On a running cluster
  raygate submit --cluster demo -- python train.py --epochs 3

  # With the files of this folder; without --cluster, the gateway must keep packages
  raygate submit . --cluster demo -- python train.py --epochs 3

  # With a new cluster: two workers with an A100 each
  raygate submit --workers 2 --worker-gpu 1 --gpu-type a100 --image my/image:1 -- python train.py

  # With two slices of TPUs on GKE, each of two Pods with four chips
  raygate submit --workers 2 --worker-tpu 4 --tpu-type tpu-v5-lite-podslice --tpu-topology 2x4 -- python train.py

  # In a queue of Kueue, before jobs of lower priority
  raygate submit --queue team-a --priority-class high --workers 2 -- python train.py

  # With image, resources and queue of a profile (raygate profiles)
  raygate submit . --profile a100x4 --workers 4 -- python train.py

  # As a manifest
  raygate submit --name train --dry-run=client -o yaml -- 'python prepare.py && python train.py'`,
		Args: folderAndCommand,
		RunE: run(flags, c.run),
	}
	c.addJob(cmd.Flags())
	c.addCluster(&c.ofCluster)
	cmd.Flags().AddFlagSet(&c.ofCluster)
	cmd.Flags().BoolVar(&c.noWake, "no-wake", false, "do not resume a cluster that is suspended because it was idle or old, or by its schedule; fail")
	c.addFollowing(cmd.Flags())
	cmd.Flags().StringVarP(&c.output.Form, "output", "o", "yaml", "output format of --dry-run: yaml, json or name")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

// addJob adds the flags of the job.
func (c *submitCommand) addJob(f *pflag.FlagSet) {
	f.StringVar(&c.cluster, "cluster", "", "running cluster to submit to; without it the job gets a new cluster")
	f.StringVar(&c.Name, "name", "", "name of the RayJob, or id of the submission (default a generated name)")
	f.StringToStringVar(&c.Env, "env", nil, "environment variables of the job, as NAME=VALUE")
	f.StringToStringVar(&c.Metadata, "metadata", nil, "metadata of the job in Ray, as NAME=VALUE")
	f.StringVar(&c.WorkingDir, "working-dir", "", "folder to upload as the working directory, or the URI of an archive that Ray fetches")
	f.StringVar(&c.runtimeEnvFile, "runtime-env", "", "file with the runtime environment, as YAML")
	f.Float32Var(&c.CPUs, "entrypoint-cpus", 0, "CPUs reserved for the command")
	f.Float32Var(&c.GPUs, "entrypoint-gpus", 0, "GPUs reserved for the command")
	f.Int64Var(&c.Memory, "entrypoint-memory", 0, "memory reserved for the command, in bytes; only with --cluster")
	f.StringToStringVar(&c.resources, "entrypoint-resources", nil, "custom resources reserved for the command, as NAME=AMOUNT")
}

// addCluster adds the flags of a new cluster, and of the RayJob that makes it.
func (c *submitCommand) addCluster(f *pflag.FlagSet) {
	f.StringVar(&c.RayVersion, "ray-version", "2.60.0", "version of Ray of the new cluster")
	f.StringVar(&c.Image, "image", "", "image of the new cluster (default rayproject/ray of that version)")
	f.StringVar(&c.Head.CPU, "head-cpu", "1", "CPU of the head Pod")
	f.StringVar(&c.Head.Memory, "head-memory", "4Gi", "memory of the head Pod")
	f.StringVar(&c.Head.GPU, "head-gpu", "0", "NVIDIA GPUs of the head Pod")
	f.Int32Var(&c.Workers, "workers", 0, "worker Pods of the new cluster")
	f.StringVar(&c.Worker.CPU, "worker-cpu", "1", "CPU of each worker Pod")
	f.StringVar(&c.Worker.Memory, "worker-memory", "4Gi", "memory of each worker Pod")
	f.StringVar(&c.Worker.GPU, "worker-gpu", "0", "NVIDIA GPUs of each worker Pod")
	f.StringVar(&c.GPUType, "gpu-type", "", "type of the GPUs, such as a100, by labels of nodes of GPU feature discovery, GKE or Karpenter (default any)")
	f.StringVar(&c.Worker.TPU, "worker-tpu", "0", "TPU chips of each worker Pod")
	f.StringVar(&c.TPUType, "tpu-type", "", "TPUs of the nodes of GKE, such as tpu-v5-lite-podslice")
	f.StringVar(&c.TPUTopology, "tpu-topology", "", "topology of their slices, such as 2x4: each of --workers is a slice, with the Pods that it needs")
	f.StringVar(&c.Mode, "submission-mode", "", "submission mode of the RayJob: K8sJobMode, HTTPMode or SidecarMode (default that of the operator)")
	f.Int32Var(&c.BackoffLimit, "backoff-limit", 0, "number of retries of a failed job, each on a new cluster")
	f.Int32Var(&c.Deadline, "deadline", 0, "seconds after which the job fails; 0: no limit")
	f.Int32Var(&c.TTL, "ttl", 30, "seconds until the new cluster is deleted after the end")
	f.BoolVar(&c.Keep, "keep", false, "keep the new cluster after the end")
	f.StringVar(&c.Queue, "queue", "", "LocalQueue of Kueue, in which the RayJob waits for its quota")
	f.StringVar(&c.PriorityClass, "priority-class", "", "WorkloadPriorityClass of Kueue")
	f.StringVar(&c.Profile, "profile", "", "profile of the new cluster, for all that other flags do not set; --workers and --worker-* are about its group workers")
	f.StringToStringVar(&c.Labels, "label", nil, "labels of the RayJob, as KEY=VALUE")
	f.StringVar(&c.dry.mode, "dry-run", "none", "none; client: print the RayJob; server: let the gateway check it without a write")
}

// folderAndCommand allows one word in front of --, the folder.
func folderAndCommand(cmd *cobra.Command, args []string) error {
	if n := cmd.ArgsLenAtDash(); n > 1 {
		return fmt.Errorf("%q before -- has no meaning; put the command behind --, and only the folder with its files in front", args[1:n])
	}
	return nil
}

func (c *submitCommand) run(ctx context.Context, s *session, args []string) error {
	if err := c.complete(s, args); err != nil {
		return err
	}
	job, err := c.start(ctx, s)
	if job == nil {
		return err
	}
	c.attend(ctx, s, job)
	return nil
}

// start submits the job. Without a job and an error, the command is done: the reason has been printed.
func (c *submitCommand) start(ctx context.Context, s *session) (job followed, err error) {
	if c.cluster != "" && !c.wake(ctx, s) {
		return nil, nil
	}
	if err := c.upload(ctx, s); err != nil {
		s.fail("uploading "+c.folder, err, ExitNotRun)
		return nil, nil
	}
	if c.cluster != "" {
		wanted, err := c.Submission()
		if err != nil {
			return nil, err
		}
		if job, err = toCluster(ctx, s, c.cluster, wanted); err != nil {
			s.fail("submitting to raycluster/"+c.cluster, err, ExitNotRun)
			return nil, nil
		}
		return job, nil
	}
	wanted, err := c.RayJob()
	if err != nil {
		return nil, err
	}
	if c.dry.mode != "none" {
		return nil, c.print(ctx, s, wanted)
	}
	if job, err = asRayJob(ctx, s, wanted); err != nil {
		s.fail("creating a RayJob", err, ExitNotRun)
		return nil, nil
	}
	return job, nil
}

// complete checks the flags and reads the files that they refer to.
func (c *submitCommand) complete(s *session, args []string) (err error) {
	if args, err = c.takeFolder(args, s.cmd.ArgsLenAtDash()); err != nil {
		return err
	}
	if c.Entrypoint, err = submit.Entrypoint(args); err != nil {
		return err
	}
	c.Shell = len(args) == 1
	if err := c.checkCluster(); err != nil {
		return err
	}
	if c.dry.mode != "client" {
		if _, err := c.dry.server(); err != nil {
			return err
		}
	}
	if err := c.output.Check(output.YAML, output.JSON, output.Name); err != nil {
		return err
	}
	if c.runtimeEnvFile != "" {
		if c.RuntimeEnv, err = os.ReadFile(c.runtimeEnvFile); err != nil {
			return fmt.Errorf("reading the runtime environment: %w", err)
		}
	}
	if err := c.checkNumbers(); err != nil {
		return err
	}
	if c.Resources, err = submit.ParseResources(c.resources); err != nil {
		return err
	}
	c.setDefaults(s.cmd.Flags())
	return nil
}

func (c *submitCommand) checkNumbers() error {
	for name, n := range map[string]int32{"workers": c.Workers, "backoff-limit": c.BackoffLimit, "deadline": c.Deadline, "ttl": c.TTL} {
		if n < 0 {
			return fmt.Errorf("--%s must not be negative", name)
		}
	}
	return nil
}

// checkCluster refuses flags that do not suit the cluster of the job: a running one or a new one.
func (c *submitCommand) checkCluster() error {
	if c.cluster == "" {
		switch {
		case c.Memory != 0:
			return errors.New("--entrypoint-memory needs --cluster: a RayJob cannot say it")
		case c.folder != "" && c.dry.mode != "none":
			return fmt.Errorf("--dry-run uploads nothing, and a RayJob cannot name the folder %s; make --working-dir the URI of an archive", c.folder)
		}
		return nil
	}
	var err error
	c.ofCluster.VisitAll(func(f *pflag.Flag) {
		if f.Changed && err == nil {
			err = fmt.Errorf("--%s is for a new cluster and goes not together with --cluster", f.Name)
		}
	})
	return err
}

// print prints the RayJob that would be created.
func (c *submitCommand) print(ctx context.Context, s *session, job *rayv1.RayJob) error {
	m, err := convert.RayJob.Message(job)
	if err != nil {
		return err
	}
	jobs, _ := kind.OfObject(raygate.JobKind.Name)
	shown := proto.Message(m)
	if c.dry.mode == "server" {
		ctx, cancel := s.bounded(ctx)
		defer cancel()
		if shown, err = s.of(jobs).Create(ctx, m, raygate.CreateOptions{ValidateOnly: true}); err != nil {
			s.fail("creating a RayJob", err, ExitNotRun)
			return nil
		}
	} else if m.Metadata.GetGenerateName() != "" && c.output.Form == output.Name {
		return errors.New("give a --name to print it")
	}
	if c.dry.mode == "client" && c.output.Form == output.YAML {
		// Users will keep this document, so leave out empty fields.
		job.TypeMeta = metav1.TypeMeta{APIVersion: m.GetApiVersion(), Kind: m.GetKind()}
		document, err := submit.Document(job)
		if err != nil {
			return err
		}
		data, err := yaml.Marshal(document)
		if err != nil {
			return err
		}
		_, err = s.out.Write(data)
		return err
	}
	return c.output.Done(s.out, output.Item{Kind: jobs, Message: shown}, "")
}
