package realnode

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const cleanLimit = 30 * time.Second

// Clean ends everything that runs below a folder of real nodes and removes what was made outside of it. Images and logs stay. What is not
// there is no error.
func Clean(dir string) error {
	if other := bridgeOwner(); other != "" && other != dir {
		return fmt.Errorf("real nodes of %s run on this machine; stop them first", other)
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanLimit)
	defer cancel()
	killShims(dir)
	err := killCgroups(ctx)
	err = errors.Join(err, unmountBelow(dir))
	if _, statErr := os.Stat("/sys/class/net/" + bridge); statErr == nil {
		err = errors.Join(err, command(ctx, "ip", "link", "delete", bridge))
	}
	for _, family := range []string{"ip", "ip6"} {
		// An error says that there is no such table.
		_ = exec.CommandContext(ctx, "nft", "delete", "table", family, "kube-proxy").Run()
	}
	states, _ := filepath.Glob(filepath.Join(dir, "raygate-real-*", "run"))
	for _, state := range states {
		err = errors.Join(err, os.RemoveAll(state))
	}
	return err
}

// bridgeOwner is the folder of the nodes whose bridge there is; empty when there is none.
func bridgeOwner() string {
	alias, _ := os.ReadFile("/sys/class/net/" + bridge + "/ifalias")
	return strings.TrimSpace(string(alias))
}

// killShims ends the processes of containerd's shims, and what they left.
func killShims(dir string) {
	entries, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range entries {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		words := bytes.Split(data, []byte{0})
		ours := slices.ContainsFunc(words, func(w []byte) bool { return bytes.HasPrefix(w, []byte(dir+"/raygate-real-")) })
		if !ours || !strings.HasPrefix(filepath.Base(string(words[0])), "containerd-shim") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// cgroupRoots are the hierarchies of this machine: one with version 2, one per controller with version 1.
func cgroupRoots() []string {
	const root = "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return []string{root}
	}
	entries, _ := os.ReadDir(root)
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, filepath.Join(root, e.Name()))
		}
	}
	return out
}

// makeCgroup makes the cgroup below which a node keeps those of its Pods.
func makeCgroup(name string) error {
	for _, root := range cgroupRoots() {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making cgroup: %w", err)
		}
		if err := errors.Join(inheritCPUs(root, name), weigh(root, name)); err != nil {
			return fmt.Errorf("making cgroup: %w", err)
		}
	}
	return nil
}

// weigh gives all Pods of a node together the share of as many processes as this machine has CPUs: with version 1, processes that are in no
// cgroup count each as much as a whole cgroup.
func weigh(root, name string) error {
	err := os.WriteFile(filepath.Join(root, name, "cpu.shares"), fmt.Appendf(nil, "%d\n", 1024*runtime.NumCPU()), 0o600)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // of another controller, or of version 2
	}
	return err
}

// inheritCPUs: with version 1 a new cgroup of the controller cpuset has no CPU and no memory.
func inheritCPUs(root, name string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(root, file))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, name, file), value, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// killCgroups kills what runs in the cgroups of the nodes, until they can be removed.
func killCgroups(ctx context.Context) error {
	for {
		left := ""
		for _, root := range cgroupRoots() {
			nodes, _ := filepath.Glob(filepath.Join(root, "raygate-real-*"))
			for _, node := range nodes {
				if !removeCgroup(node) {
					left = node
				}
			}
		}
		if left == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cgroup %s still has processes", left)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// removeCgroup kills the processes of a cgroup and those below, and removes it when none is left.
func removeCgroup(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	empty := true
	for _, e := range entries {
		if e.IsDir() {
			empty = removeCgroup(filepath.Join(dir, e.Name())) && empty
		}
	}
	procs, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	for pid := range strings.FieldsSeq(string(procs)) {
		if n, err := strconv.Atoi(pid); err == nil && n > 1 {
			_ = syscall.Kill(n, syscall.SIGKILL)
			empty = false
		}
	}
	return empty && os.Remove(dir) == nil
}

// unmountBelow removes the mounts in a folder, the innermost first.
func unmountBelow(dir string) error {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("reading mounts: %w", err)
	}
	defer f.Close()
	var mounts []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if fields := strings.Fields(s.Text()); len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			mounts = append(mounts, fields[4])
		}
	}
	slices.Reverse(mounts)
	var errs []error
	for _, m := range mounts {
		if err := unmount(m); err != nil && !errors.Is(err, syscall.EINVAL) {
			errs = append(errs, fmt.Errorf("unmounting %s: %w", m, err))
		}
	}
	return errors.Join(errs...)
}
