package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/raygate/raygate/localcluster/internal/controlplane"
	"github.com/raygate/raygate/localcluster/internal/lockfile"
	"github.com/raygate/raygate/localcluster/internal/proc"
	"github.com/raygate/raygate/localcluster/internal/realnode"
)

const stopLimit = 20 * time.Second

func upCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run everything in the background; returns when it is ready",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return up(cmd.Context(), o) },
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func downCommand() *cobra.Command {
	return onFolder("down", "Stop what runs; data are kept", down)
}

func resetCommand() *cobra.Command {
	return onFolder("reset", "Stop what runs and forget all data", reset)
}

func statusCommand() *cobra.Command {
	return onFolder("status", "Tell what runs; the exit code is 1 when nothing does or something is not ready", status)
}

// onFolder returns a command whose only option is the folder of a run.
func onFolder(use, short string, do func(ctx context.Context, dir string) error) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return do(cmd.Context(), dir) },
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder for data and logs (default .local beside bin)")
	return cmd
}

// up starts the run command in a session of its own and shows its output until it is ready.
func up(ctx context.Context, o runOptions) error {
	p, err := o.check()
	if err != nil {
		return err
	}
	holder, err := lockfile.Holder(p.lock())
	if err != nil {
		return err
	}
	if holder != 0 {
		_ = alreadyRunning(p) // prints that a run exists; up has not failed
		return nil
	}
	if err := os.MkdirAll(p.data+"/logs", 0o700); err != nil {
		return fmt.Errorf("making data folder: %w", err)
	}
	logPath := p.log("supervisor")
	log, err := os.Create(logPath)
	if err != nil {
		return fmt.Errorf("opening log: %w", err)
	}
	defer log.Close()
	args := []string{
		"run", "--dir", p.data, fmt.Sprintf("--nodes=%d", o.nodes), fmt.Sprintf("--real-nodes=%d", o.realNodes), fmt.Sprintf("--simulate=%t", o.simulate),
		fmt.Sprintf("--without-raygate=%t", o.withoutRaygate), "--login=" + o.login, "--store=" + o.store,
	}
	if o.crds != "" {
		args = append(args, "--crds", o.crds)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting in the background: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	show, err := os.Open(logPath)
	if err != nil {
		return fmt.Errorf("reading log: %w", err)
	}
	defer show.Close()
	return awaitUp(ctx, p, cmd, ended, show)
}

// awaitUp has no limit: the process in the background ends when one of its parts is not ready in time.
func awaitUp(ctx context.Context, p paths, cmd *exec.Cmd, ended <-chan error, show io.Reader) error {
	for {
		st, err := readState(p)
		if err != nil {
			return err
		}
		_, _ = io.Copy(os.Stdout, show)
		if st != nil && st.PID == cmd.Process.Pid {
			time.Sleep(50 * time.Millisecond) // the guide is printed after the file is written
			_, _ = io.Copy(os.Stdout, show)
			fmt.Printf("running in the background as pid %d; stop it with: %s\n", st.PID, p.downCommand())
			return nil
		}
		select {
		case err := <-ended:
			_, _ = io.Copy(os.Stdout, show)
			if err == nil {
				err = errors.New("it ended at once")
			}
			return fmt.Errorf("starting in the background: %w; logs are in %s", err, p.data+"/logs")
		case <-ctx.Done():
			_ = cmd.Process.Signal(syscall.SIGTERM)
			<-ended //nolint:errcheck // how it ended does not matter any more
			return fmt.Errorf("waiting for the start: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// alreadyRunning prints the pid and the addresses of the running cluster. It returns an error for commands that start one
// themselves.
func alreadyRunning(p paths) error {
	pid, err := lockfile.Holder(p.lock())
	if err != nil {
		return err
	}
	fmt.Printf("already running as pid %d; stop it with: %s\n", pid, p.downCommand())
	if st, err := readState(p); err == nil && st != nil {
		fmt.Println(st.guide())
	} else {
		fmt.Println("it is not ready yet")
	}
	return errReported
}

// down stops the process that holds the lock. The kernel reports the holder, so a reused pid cannot be stopped by mistake.
func down(ctx context.Context, dir string) error {
	p, err := findPaths(dir)
	if err != nil {
		return err
	}
	pid, err := lockfile.Holder(p.lock())
	if err != nil {
		return err
	}
	if pid == 0 {
		fmt.Println("nothing is running")
		return nil
	}
	fmt.Printf("stopping pid %d\n", pid)
	if err := kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping pid %d: %w", pid, err)
	}
	return awaitEnd(ctx, p, pid)
}

// kill sends a signal to a process, which may have ended.
func kill(pid int, sig syscall.Signal) error {
	if err := syscall.Kill(pid, sig); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// awaitEnd waits until a process no longer holds the lock, and kills it if it takes too long.
func awaitEnd(ctx context.Context, p paths, pid int) error {
	begin, told, killed := time.Now(), time.Now(), false
	for {
		now, err := lockfile.Holder(p.lock())
		if err != nil {
			return err
		}
		if now != pid {
			fmt.Printf("stopped in %.1f s\n", time.Since(begin).Seconds())
			return nil
		}
		if time.Since(begin) > stopLimit && !killed {
			killed = true
			fmt.Printf("pid %d did not end within %s and is killed\n", pid, stopLimit)
			if err := kill(pid, syscall.SIGKILL); err != nil {
				return fmt.Errorf("killing pid %d: %w", pid, err)
			}
		}
		if time.Since(told) > 2*time.Second {
			told = time.Now()
			fmt.Printf("still stopping, %d s; last: %s\n", int(time.Since(begin).Seconds()), strings.Join(proc.Tail(p.log("supervisor"), 1), ""))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// owned lists what a run creates in its folder. reset removes only these, and then the folder if it is empty: --dir may name a
// folder with other files.
var owned = []string{"etcd", "pki", "logs", "kubeconfig", "env", "ports.json", "state.json", "state.json.new", "lock", "pods", "nodes", "history", "egress.yaml", "egress.sock", "login", "s3"}

func reset(ctx context.Context, dir string) error {
	if err := down(ctx, dir); err != nil {
		return err
	}
	p, err := findPaths(dir)
	if err != nil {
		return err
	}
	if exists(p.realNodes()) {
		// A crash may have left mounts in this folder.
		if err := realnode.Clean(p.realNodes()); err != nil {
			return fmt.Errorf("forgetting data: %w", err)
		}
	}
	for _, name := range owned {
		if err := os.RemoveAll(p.data + "/" + name); err != nil {
			return fmt.Errorf("forgetting data: %w", err)
		}
	}
	if err := os.Remove(p.data); err != nil && !errors.Is(err, os.ErrNotExist) {
		fmt.Printf("%s has other files in it and stays\n", p.data)
	}
	fmt.Println("all data are forgotten")
	return nil
}

func status(ctx context.Context, dir string) error {
	p, err := findPaths(dir)
	if err != nil {
		return err
	}
	pid, err := lockfile.Holder(p.lock())
	if err != nil {
		return err
	}
	if pid == 0 {
		fmt.Println("nothing is running")
		return errReported
	}
	st, err := readState(p)
	if err != nil {
		return err
	}
	if st == nil {
		fmt.Printf("pid %d is starting or stopping\n", pid)
		return errReported
	}
	fmt.Printf("running as pid %d\n", pid)
	for _, name := range slices.Sorted(maps.Keys(st.Parts)) {
		fmt.Printf("  %-24s pid %d\n", name, st.Parts[name])
	}
	allReady := true
	if st.HTTP != "" {
		for name, url := range map[string]string{"operator": st.Probes, "gateway": st.HTTP} {
			word := "ready"
			if err := controlplane.AskHTTP(ctx, url+"/readyz"); err != nil {
				word, allReady = fmt.Sprintf("not ready: %v", err), false
			}
			fmt.Printf("  %-24s %s\n", name, word)
		}
	}
	fmt.Println(st.guide())
	if !allReady {
		return errReported
	}
	return nil
}
