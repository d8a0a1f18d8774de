package proc

import (
	"runtime"
	"sync"
)

var (
	spawnerOnce sync.Once
	spawner     chan func()
)

// onSpawner runs f on one operating system thread that lives as long as the
// supervisor. Linux ties the death signal of a child to the thread that started
// it, and the Go runtime may end other threads early.
func onSpawner(f func() error) error {
	spawnerOnce.Do(func() {
		spawner = make(chan func())
		go func() {
			runtime.LockOSThread()
			for work := range spawner {
				work()
			}
		}()
	})
	result := make(chan error)
	spawner <- func() { result <- f() }
	return <-result
}
