package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// paths contains the folders of programs and data.
type paths struct {
	root string // of the repository
	bin  string // the programs; bin/k8s below it has those of Kubernetes
	data string
}

// findPaths derives the paths from the location of this program. data, unless empty, replaces .local.
func findPaths(data string) (paths, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return paths{}, fmt.Errorf("finding this program: %w", err)
	}
	p := paths{bin: filepath.Dir(self)}
	p.root = filepath.Dir(p.bin)
	if data == "" {
		data = filepath.Join(p.root, ".local")
	}
	p.data, err = filepath.Abs(data)
	if err != nil {
		return paths{}, fmt.Errorf("finding data folder: %w", err)
	}
	return p, nil
}

func (p paths) k8s() string            { return filepath.Join(p.bin, "k8s") }
func (p paths) node() string           { return filepath.Join(p.bin, "node") }
func (p paths) realNodes() string      { return filepath.Join(p.data, "nodes") }
func (p paths) operator() string       { return filepath.Join(p.bin, "raygate-operator") }
func (p paths) gateway() string        { return filepath.Join(p.bin, "raygate-apiserver") }
func (p paths) crds() string           { return filepath.Join(p.root, "operator", "config", "crd", "bases") }
func (p paths) updates() string        { return filepath.Join(p.root, "operator", "config", "crd", "updates") }
func (p paths) history() string        { return filepath.Join(p.data, "history") }
func (p paths) lock() string           { return filepath.Join(p.data, "lock") }
func (p paths) ports() string          { return filepath.Join(p.data, "ports.json") }
func (p paths) state() string          { return filepath.Join(p.data, "state.json") }
func (p paths) env() string            { return filepath.Join(p.data, "env") }
func (p paths) log(part string) string { return filepath.Join(p.data, "logs", part+".log") }

// downCommand returns the command that stops the run of this folder.
func (p paths) downCommand() string {
	if p.data == filepath.Join(p.root, ".local") {
		return "make down"
	}
	return filepath.Join(p.bin, "raygate-local") + " down --dir " + p.data
}

// kubernetesPrograms are the used links to the multi-call program.
var kubernetesPrograms = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// missing returns an error that lists the programs that are not built, and how to build them.
func (p paths) missing(withRaygate bool) error {
	var local, ours []string
	for _, name := range kubernetesPrograms {
		if !exists(filepath.Join(p.k8s(), name)) {
			local = append(local, "bin/k8s/"+name)
		}
	}
	if withRaygate {
		for _, path := range []string{p.operator(), p.gateway()} {
			if !exists(path) {
				ours = append(ours, "bin/"+filepath.Base(path))
			}
		}
	}
	var remedies []string
	if len(local) > 0 {
		remedies = append(remedies, "make localcluster")
	}
	if len(ours) > 0 {
		remedies = append(remedies, "make build")
	}
	if len(remedies) == 0 {
		return nil
	}
	return fmt.Errorf("not built yet: %s; run: %s", strings.Join(append(local, ours...), ", "), strings.Join(remedies, " && "))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
