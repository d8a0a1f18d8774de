package programs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds the main package of a module of this repository, such as test/oidc, into the program at path. Tests run at any depth
// below the root.
func Build(module, path string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		sources := filepath.Join(dir, filepath.FromSlash(module))
		if _, err := os.Stat(filepath.Join(sources, "go.mod")); err != nil {
			continue
		}
		if out, err := exec.Command("go", "build", "-C", sources, "-o", path, ".").CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w: %s", module, err, out)
		}
		return nil
	}
	return errors.New(module + " is not above the working directory")
}
