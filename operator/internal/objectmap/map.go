// Package objectmap stores values per object, so that all values of an object can be dropped when it is deleted.
package objectmap

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Map stores values by the UID of their object and a key. The zero value is ready for use. It is safe for concurrent use. Returned
// values are not copied.
type Map[K comparable, V any] struct {
	mu     sync.Mutex
	owners map[types.UID]map[K]V
}

// Get returns a value, or false if there is none.
func (m *Map[K, V]) Get(owner types.UID, key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.owners[owner][key]
	return value, ok
}

// Set sets a value and replaces an earlier one.
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

// All returns a copy of an owner's values; nil if there are none.
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

// DeleteFunc deletes the values of all owners for which del returns true.
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

// Retain deletes the values of all owners except these.
func (m *Map[K, V]) Retain(owners map[types.UID]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.owners, func(owner types.UID, _ map[K]V) bool { return !owners[owner] })
}

// Forget deletes all values of an owner.
func (m *Map[K, V]) Forget(owner types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owners, owner)
}
