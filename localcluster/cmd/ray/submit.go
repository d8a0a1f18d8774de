package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

const defaultAddress = "http://127.0.0.1:8265"

func addressFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("address", defaultAddress, "address of the dashboard; RAY_ADDRESS and RAY_API_SERVER_ADDRESS override it")
}

type submitOptions struct {
	noWait                          bool
	id, oldID, runtimeEnv, envFile  string
	workingDir, metadata, resources string
	cpus, gpus                      float64
	memory                          int64
}

func submitCommand(e env) *cobra.Command {
	var o submitOptions
	cmd := &cobra.Command{Use: "submit [flags] -- ENTRYPOINT...", Short: "Submit a job", Args: cobra.MinimumNArgs(1)}
	address := addressFlag(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.noWait, "no-wait", false, "do not follow the log until the job has ended")
	f.StringVar(&o.id, "submission-id", "", "id of the job; generated when empty")
	f.StringVar(&o.oldID, "job-id", "", "older name of --submission-id")
	f.StringVar(&o.runtimeEnv, "runtime-env-json", "", "runtime environment, as JSON")
	f.StringVar(&o.envFile, "runtime-env", "", "file with the runtime environment, as YAML")
	f.StringVar(&o.workingDir, "working-dir", "", "URI of the working directory; local folders are not uploaded")
	f.StringVar(&o.metadata, "metadata-json", "", "metadata, as JSON")
	f.StringVar(&o.resources, "entrypoint-resources", "", "resources of the entrypoint, as JSON")
	f.Float64Var(&o.cpus, "entrypoint-num-cpus", 0, "CPUs of the entrypoint")
	f.Float64Var(&o.gpus, "entrypoint-num-gpus", 0, "GPUs of the entrypoint")
	f.Int64Var(&o.memory, "entrypoint-memory", 0, "memory of the entrypoint in bytes")
	f.SetInterspersed(false)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return submit(cmd.Context(), e, *address, o, args) }
	return cmd
}

func submit(ctx context.Context, e env, address string, o submitOptions, args []string) error {
	body, err := o.body(args)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	c, err := connect(ctx, e, address)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "Job submission server address:", c.base)
	var accepted struct {
		SubmissionID string `json:"submission_id"`
	}
	if err := c.call(ctx, http.MethodPost, "/api/jobs/", body, &accepted); err != nil {
		return err
	}
	id := accepted.SubmissionID
	fmt.Fprintf(os.Stderr, "Job '%s' is submitted; see it with: ray job status %s\n", id, id)
	if o.noWait {
		return nil
	}
	if err := c.tail(ctx, id, os.Stdout); err != nil {
		return err
	}
	d, err := c.get(ctx, id)
	if err != nil {
		return err
	}
	printEnd(id, d)
	if d.Status == "FAILED" {
		return exitError(1)
	}
	return nil
}

func (o submitOptions) body(args []string) (map[string]any, error) {
	body := map[string]any{"entrypoint": join(args)}
	if id := cmp.Or(o.id, o.oldID); id != "" {
		body["submission_id"] = id
	}
	env, err := o.environment()
	if err != nil {
		return nil, err
	}
	if len(env) > 0 {
		body["runtime_env"] = env
	}
	for key, text := range map[string]string{"metadata": o.metadata, "entrypoint_resources": o.resources} {
		if text == "" {
			continue
		}
		var value map[string]any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		body[key] = value
	}
	for key, n := range map[string]float64{"entrypoint_num_cpus": o.cpus, "entrypoint_num_gpus": o.gpus, "entrypoint_memory": float64(o.memory)} {
		if n != 0 {
			body[key] = n
		}
	}
	return body, nil
}

// environment merges the runtime environment from the file, the JSON and the working directory, in this order.
func (o submitOptions) environment() (map[string]any, error) {
	env := map[string]any{}
	if o.envFile != "" {
		data, err := os.ReadFile(o.envFile)
		if err != nil {
			return nil, fmt.Errorf("--runtime-env: %w", err)
		}
		if err := yaml.Unmarshal(data, &env); err != nil {
			return nil, fmt.Errorf("--runtime-env: %w", err)
		}
	}
	if o.runtimeEnv != "" {
		if err := json.Unmarshal([]byte(o.runtimeEnv), &env); err != nil {
			return nil, fmt.Errorf("--runtime-env-json: %w", err)
		}
	}
	if o.workingDir != "" {
		env["working_dir"] = o.workingDir
	}
	return env, nil
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9@%_+=:,./-]+$`)

// join quotes words for a POSIX shell and joins them.
func join(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if !plainWord.MatchString(w) {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'"'"'`) + "'"
		}
	}
	return strings.Join(out, " ")
}
