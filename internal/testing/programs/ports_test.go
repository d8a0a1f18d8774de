package programs_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/raygate/raygate/internal/testing/programs"
)

// child is the environment variable that makes TestFreePortsAreReserved the process that chooses.
const child = "RAYGATE_TEST_CHOOSES_PORTS"

// TestFreePortsAreReserved lets several processes choose ports and keep them: no port belongs to two of them.
func TestFreePortsAreReserved(t *testing.T) {
	const each = 200
	if os.Getenv(child) != "" {
		ports, err := programs.FreePorts(each)
		if err != nil {
			t.Fatal(err)
		}
		for _, port := range ports {
			fmt.Println(port)
		}
		fmt.Println(0)
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent closes it
		return
	}
	owner := map[int]int{}
	for process := range 4 { // by chance alone some 25 ports would be chosen twice
		cmd := exec.Command(os.Args[0], "-test.run=^TestFreePortsAreReserved$")
		cmd.Env = append(os.Environ(), child+"=1")
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = in.Close()
			_ = cmd.Wait()
		})
		lines := bufio.NewScanner(out)
		for lines.Scan() && lines.Text() != "0" {
			var port int
			if _, err := fmt.Sscan(lines.Text(), &port); err != nil {
				t.Fatalf("want a port, got %q", lines.Text())
			}
			if other, taken := owner[port]; taken {
				t.Fatalf("processes %d and %d both have port %d", other, process, port)
			}
			owner[port] = process
		}
	}
	if want := 4 * each; len(owner) != want {
		t.Errorf("want %d ports, got %d", want, len(owner))
	}
}
