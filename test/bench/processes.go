package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program that was started here and is stopped here, by its id.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// startProcess starts a program whose output is written to dir/name.log. Its stdin stays open as long as it runs.
func startProcess(dir, name, path string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening log of %s: %w", name, err)
	}
	defer func() { _ = log.Close() }()
	p.cmd = exec.Command(path, args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if _, err := p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is read from ProcessState
		close(p.done)
	}()
	return p, nil
}

// stop requests the program to end, and kills it if it does not.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// await calls ask every 50 ms until it succeeds; it gives up when the program ends, or when ctx or limit is over.
func (p *process) await(ctx context.Context, what string, limit time.Duration, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("waiting for %s: %s has ended (%v); its last lines:\n%s", what, p.name, p.cmd.ProcessState, p.lastLines(20))
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last answer: %w", what, ctx.Err(), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (p *process) lastLines(n int) string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-n):], []byte("\n")))
}

// cpu is the processor time, in seconds, that the program has used so far: user and system, as Linux counts them in
// ticks of 10 ms.
func (p *process) cpu() (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading CPU time of %s: %w", p.name, err)
	}
	return parseCPU(string(data))
}

// memory is the resident memory of the program in MiB, as Linux counts it.
func (p *process) memory() (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading memory of %s: %w", p.name, err)
	}
	return parseMemory(string(data))
}

func parseMemory(status string) (float64, error) {
	for line := range strings.Lines(status) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" && fields[2] == "kB" {
			kib, err := strconv.Atoi(fields[1])
			return float64(kib) / 1024, err
		}
	}
	return 0, fmt.Errorf("reading memory: no VmRSS in %q", status)
}

// cpuOfFamily is the processor time of the program and of its children, by their names.
func (p *process) cpuOfFamily() (map[string]float64, error) {
	pid := p.cmd.Process.Pid
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil, fmt.Errorf("looking for children of %s: %w", p.name, err)
	}
	pids := []string{strconv.Itoa(pid)}
	for _, file := range children {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		pids = append(pids, strings.Fields(string(data))...)
	}
	cpu := map[string]float64{}
	for _, pid := range pids {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			return nil, fmt.Errorf("reading CPU time of %s: %w", p.name, err)
		}
		command, err := os.ReadFile("/proc/" + pid + "/cmdline")
		if err != nil {
			return nil, fmt.Errorf("reading name of a child of %s: %w", p.name, err)
		}
		name, _, _ := strings.Cut(string(command), "\x00")
		used, err := parseCPU(string(stat))
		if err != nil {
			return nil, err
		}
		cpu[filepath.Base(name)] += used
	}
	return cpu, nil
}

func parseCPU(stat string) (float64, error) {
	// The second field is the name in parentheses, which may itself contain spaces and parentheses.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("reading CPU time: unexpected %q", stat)
	}
	ticks := 0
	for _, f := range fields[11:13] { // utime and stime, fields 14 and 15 of the line
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, fmt.Errorf("reading CPU time: %w", err)
		}
		ticks += n
	}
	return float64(ticks) / 100, nil
}

// freePorts returns n addresses on loopback that were free a moment ago.
func freePorts(n int) ([]string, error) {
	var addresses []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		// Keep it open until all are found, so that they differ.
		defer func() { _ = l.Close() }()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}

func httpOK(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
			return fmt.Errorf("%s answered %s: %s", url, resp.Status, body)
		}
		return nil
	}
}
