// Package byowner keeps what is known about objects in memory, so that all of it is dropped when the object is gone.
package byowner

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Map holds values by the UID of the object that they are about, and a key. The zero value is ready; it may be used from several
// goroutines. What it returns is not copied.
type Map[K comparable, V any] struct {
	mu     sync.Mutex
	owners map[types.UID]map[K]V
}

// Get returns the value, and false if there is none.
func (m *Map[K, V]) Get(owner types.UID, key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.owners[owner][key]
	return value, ok
}

// Set puts the value in the place of an earlier one.
func (m *Map[K, V]) Set(owner types.UID, key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owners == nil {
		m.owners = map[types.UID]map[K]V{}
	}
	if m.owners[owner] == nil {
		m.owners[owner] = map[K]V{}
	}
	m.owners[owner][key] = value
}

// All is a copy of the values of an owner; nil if there are none.
func (m *Map[K, V]) All(owner types.UID) map[K]V {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.owners[owner])
}

// Delete drops a value.
func (m *Map[K, V]) Delete(owner types.UID, key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owners[owner], key)
	if len(m.owners[owner]) == 0 {
		delete(m.owners, owner)
	}
}

// DeleteFunc drops the values of all owners for which del holds.
func (m *Map[K, V]) DeleteFunc(del func(V) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for owner, values := range m.owners {
		maps.DeleteFunc(values, func(_ K, value V) bool { return del(value) })
		if len(values) == 0 {
			delete(m.owners, owner)
		}
	}
}

// Retain drops all about objects but these.
func (m *Map[K, V]) Retain(owners map[types.UID]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.owners, func(owner types.UID, _ map[K]V) bool { return !owners[owner] })
}

// Forget drops all about an object that is gone.
func (m *Map[K, V]) Forget(owner types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owners, owner)
}
