package controlplane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// seedAge is how long a seed is kept after its last use: a branch that is left today may be back tomorrow.
const seedAge = 24 * time.Hour

// seeded are the folders of a control plane that a seed consists of: objects, and the keys that signed tokens among them.
var seeded = []string{"etcd", "pki"}

// seed returns a folder with the data of a control plane that has these CRDs, from an earlier start. A control plane that starts on a copy of it
// neither validates and stores the CRDs nor makes the objects that each API server makes at its first start: BenchmarkStart shows the seconds.
// The first call makes the seed; other processes wait for it.
func seed(repo, program string, crds CRDs) (string, error) {
	key, err := seedKey(repo, crds)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the folder for seeds: %w", err)
	}
	seeds := filepath.Join(cache, "raygate", "seeds") // also for other clones and branches
	if err := os.MkdirAll(seeds, 0o700); err != nil {
		return "", fmt.Errorf("making folder for seeds: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(seeds, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("locking seeds: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("locking seeds: %w", err)
	}
	dir := filepath.Join(seeds, key)
	if _, err := os.Stat(dir); err == nil {
		now := time.Now()
		return dir, os.Chtimes(dir, now, now)
	}
	if err := removeOld(seeds); err != nil {
		return "", err
	}
	return dir, makeSeed(repo, program, dir, crds)
}

// seedKey is a hash of all inputs of the data: the programs, by the keys that the build leaves beside them, and the CRDs.
func seedKey(repo string, crds CRDs) (string, error) {
	files, err := filepath.Glob(filepath.Join(repo, "bin", "k8s", ".key*"))
	if err != nil {
		return "", fmt.Errorf("finding the keys of programs: %w", err)
	}
	if crds != NoCRDs {
		for _, folder := range []string{crdFolder, updatesFolder} {
			generated, err := filepath.Glob(filepath.Join(repo, folder, "*.yaml"))
			if err != nil {
				return "", fmt.Errorf("finding CustomResourceDefinitions: %w", err)
			}
			files = append(files, generated...)
		}
	}
	hash := sha256.New()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("reading what a seed depends on: %w", err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", filepath.Base(file), len(data), data)
	}
	fmt.Fprintln(hash, crds)
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

func makeSeed(repo, program, dir string, crds CRDs) error {
	work, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		return fmt.Errorf("making seed: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	e := newEnv(work, Options{Nodes: -1, WithoutScheduler: true, WithoutControllerManager: true})
	defer e.end()
	if err := e.start(program); err != nil {
		return fmt.Errorf("making seed: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if crds != NoCRDs {
		if err := installCRDs(ctx, e.Config, filepath.Join(repo, crdFolder), crds); err != nil {
			return fmt.Errorf("making seed: %w", err)
		}
	}
	if crds == FullCRDs {
		if err := installPolicies(ctx, e.Config, filepath.Join(repo, updatesFolder)); err != nil {
			return fmt.Errorf("making seed: %w", err)
		}
	}
	e.end()
	entries, err := os.ReadDir(work)
	if err != nil {
		return fmt.Errorf("making seed: %w", err)
	}
	for _, entry := range entries {
		if !slices.Contains(seeded, entry.Name()) {
			if err := os.RemoveAll(filepath.Join(work, entry.Name())); err != nil {
				return fmt.Errorf("making seed: %w", err)
			}
		}
	}
	if err := os.Rename(work, dir); err != nil {
		return fmt.Errorf("making seed: %w", err)
	}
	return nil
}

// removeOld removes seeds that were not used for a day.
func removeOld(seeds string) error {
	entries, err := os.ReadDir(seeds)
	if err != nil {
		return fmt.Errorf("reading seeds: %w", err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !entry.IsDir() || time.Since(info.ModTime()) < seedAge {
			continue
		}
		if err := os.RemoveAll(filepath.Join(seeds, entry.Name())); err != nil {
			return fmt.Errorf("removing an old seed: %w", err)
		}
	}
	return nil
}
