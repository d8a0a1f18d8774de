package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// onJob returns a command whose only argument is a job.
func onJob(e env, use, short string, do func(ctx context.Context, c *client, id string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use + " ID", Short: short, Args: cobra.ExactArgs(1)}
	address := addressFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := connect(cmd.Context(), e, *address)
		if err != nil {
			return err
		}
		return do(cmd.Context(), c, args[0])
	}
	return cmd
}

// printEnd prints the state of a job to standard error. Only logs and lists go to standard output.
func printEnd(id string, d details) {
	message := ""
	if d.Message != nil {
		message = ": " + *d.Message
	}
	fmt.Fprintf(os.Stderr, "Job '%s' is %s%s\n", id, d.Status, message)
}

func statusCommand(e env) *cobra.Command {
	return onJob(e, "status", "Print the status of a job", func(ctx context.Context, c *client, id string) error {
		d, err := c.get(ctx, id)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stdout, "Status for job '%s': %s\n", id, d.Status)
		printEnd(id, d)
		return nil
	})
}

func logsCommand(e env) *cobra.Command {
	var follow bool
	cmd := onJob(e, "logs", "Print the log of a job", func(ctx context.Context, c *client, id string) error {
		if !follow {
			var out struct {
				Logs string `json:"logs"`
			}
			if err := c.call(ctx, http.MethodGet, jobPath(id, "/logs"), nil, &out); err != nil {
				return err
			}
			_, err := fmt.Fprint(os.Stdout, out.Logs)
			return err
		}
		if err := c.tail(ctx, id, os.Stdout); err != nil {
			return err
		}
		d, err := c.get(ctx, id)
		if err != nil {
			return err
		}
		printEnd(id, d)
		return nil // for any result of the job
	})
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the job has ended")
	return cmd
}

func stopCommand(e env) *cobra.Command {
	var noWait bool
	cmd := onJob(e, "stop", "Stop a job", func(ctx context.Context, c *client, id string) error {
		if err := c.call(ctx, http.MethodPost, jobPath(id, "/stop"), nil, nil); err != nil {
			return err
		}
		for !noWait {
			d, err := c.get(ctx, id)
			if err != nil {
				return err
			}
			if d.terminal() {
				printEnd(id, d)
				return nil
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(200 * time.Millisecond):
			}
		}
		return nil
	})
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "do not wait for the end of the job")
	return cmd
}

func deleteCommand(e env) *cobra.Command {
	return onJob(e, "delete", "Forget a job that has ended", func(ctx context.Context, c *client, id string) error {
		return c.call(ctx, http.MethodDelete, jobPath(id, ""), nil, nil)
	})
}

func listCommand(e env) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "Print the records of all jobs, as JSON", Args: cobra.NoArgs}
	address := addressFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := connect(cmd.Context(), e, *address)
		if err != nil {
			return err
		}
		var jobs []json.RawMessage
		if err := c.call(cmd.Context(), http.MethodGet, "/api/jobs/", nil, &jobs); err != nil {
			return err
		}
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(jobs)
	}
	return cmd
}
