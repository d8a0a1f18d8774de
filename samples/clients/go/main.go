// Runs a command as a RayJob with a cluster of its own, and prints its log: a Go client with the types of the custom resources.
//
//	go run ./samples/clients/go [COMMAND]
//
// The gateway and the caller are those of the environment: $RAYGATE_SERVER (or $RAYGATE_GRPC, which the local cluster's settings file sets),
// $RAYGATE_TOKEN, $RAYGATE_CERTIFICATE_AUTHORITY; inside a Pod the token is that of its ServiceAccount.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/clients/go"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	const namespace = "default"
	command := `python -c "import ray; ray.init(); print(ray.cluster_resources())"`
	if len(args) > 0 {
		command = args[0]
	}
	config, err := raygate.ConfigFromEnvironment(getenv)
	if err != nil {
		return err
	}
	if config.Address == "" {
		config.Address = "127.0.0.1"
	}
	client, err := raygate.Dial(config)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()

	jobs := client.Jobs(namespace)
	job, err := jobs.Create(ctx, jobOf(command), raygate.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating the job: %w", err)
	}
	fmt.Fprintf(os.Stderr, "created rayjob/%s\n", job.Name)
	if _, err := jobs.Wait(ctx, job.Name, "ready", 5*time.Minute); err != nil {
		return fmt.Errorf("waiting for the job to run: %w", err)
	}
	for part, err := range client.JobLogs(ctx, namespace, job.Name, raygate.LogOptions{Follow: true}) {
		if err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
		if _, err := out.Write(part); err != nil {
			return err
		}
	}
	if _, err := jobs.Wait(ctx, job.Name, "complete", 5*time.Minute); err != nil {
		return fmt.Errorf("the job did not succeed: %w", err)
	}
	return nil
}

// jobOf is a job on a cluster of one Pod, which goes with the job.
func jobOf(command string) *rayv1.RayJob {
	head := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "ray-head", Image: "rayproject/ray:2.60.0"}}}}
	return &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "sample-"},
		Spec: rayv1.RayJobSpec{
			Entrypoint: command, ShutdownAfterJobFinishes: true, TTLSecondsAfterFinished: 60,
			RayClusterSpec: &rayv1.RayClusterSpec{RayVersion: "2.60.0", HeadGroupSpec: rayv1.HeadGroupSpec{RayStartParams: map[string]string{}, Template: head}},
		},
	}
}
