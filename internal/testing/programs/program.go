package programs

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	// startLimit is generous, for slow machines.
	startLimit = 10 * time.Minute
	stopLimit  = time.Minute
)

// probe checks whether a program is ready. Its timeout is for a listener that accepts connections and never answers.
var probe = http.Client{Timeout: 2 * time.Second}

// Program is one of the built programs as a child process. It ends with the process that started it, even if that process crashes.
type Program struct {
	// Path of the program; see Binary.
	Path string
	Args []string
	// Env is added to the environment, as NAME=VALUE.
	Env []string
	// Log is the file for its output. Each start appends to it.
	Log string
	// Ready is the URL that answers 200 when the program serves.
	Ready string

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
}

// Binary is the path of a program in bin/, as seen from a package two folders below the root.
func Binary(name string) string {
	return filepath.Join("..", "..", "bin", filepath.FromSlash(name))
}

// Start runs the program and returns when it is ready. The error contains the end of its log.
func (p *Program) Start() error {
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), p.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s (run `make build` first): %w", p.Path, err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	p.mu.Lock()
	p.cmd, p.done = cmd, done
	p.mu.Unlock()
	return p.waitReady(done)
}

func (p *Program) waitReady(done <-chan struct{}) error {
	for deadline := time.Now().Add(startLimit); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		select {
		case <-done:
			return fmt.Errorf("%s ended; the end of its log:\n%s", p.Path, p.Tail(4000))
		default:
		}
		if resp, err := probe.Get(p.Ready); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
	}
	return fmt.Errorf("%s did not become ready; the end of its log:\n%s", p.Path, p.Tail(4000))
}

// Kill ends the program as a crash would.
func (p *Program) Kill() { p.end(syscall.SIGKILL) }

// Stop ends the program as a user would, and kills it if that takes too long.
func (p *Program) Stop() { p.end(syscall.SIGTERM) }

func (p *Program) end(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.done:
	case <-time.After(stopLimit):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	p.cmd = nil
}

// Running reports whether the program was started and has not ended.
func (p *Program) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Tail is the end of the log, of n bytes at most.
func (p *Program) Tail(n int) []byte {
	data, _ := os.ReadFile(p.Log)
	return data[max(0, len(data)-n):]
}

// Run starts the programs, runs the tests beside them, and returns the exit code of the tests. When a test fails, it prints the ends of the logs.
func Run(m interface{ Run() int }, programs ...*Program) (int, error) {
	for _, p := range programs {
		if err := p.Start(); err != nil {
			return 0, err
		}
		defer p.Stop()
	}
	code := m.Run()
	if code != 0 {
		PrintLogs(4000, programs...)
	}
	return code, nil
}

// PrintLogs prints the ends of the logs, of n bytes at most, for the reader of a failed test.
func PrintLogs(n int, programs ...*Program) {
	for _, p := range programs {
		fmt.Fprintf(os.Stderr, "--- end of %s\n%s\n", p.Log, p.Tail(n))
	}
}
