package mtls

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// memory is what need not be done or said again. All of it can be lost at any time: it is then done or said once more.
type memory struct {
	mu      sync.Mutex
	told    map[types.NamespacedName]map[string]string // cluster, subject, text
	secrets map[types.UID]int64                        // Certificates whose Secret has its owner, and how often they were issued by then
}

func newMemory() *memory {
	return &memory{told: map[types.NamespacedName]map[string]string{}, secrets: map[types.UID]int64{}}
}

// news notes the text on the subject and reports whether it differs from the last.
func (m *memory) news(cluster types.NamespacedName, subject, text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.told[cluster] == nil {
		m.told[cluster] = map[string]string{}
	}
	if m.told[cluster][subject] == text {
		return false
	}
	m.told[cluster][subject] = text
	return true
}

func (m *memory) forget(cluster types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.told, cluster)
}

// adopted reports whether the Secret has its owner, and has not been filled again since, perhaps because it was lost.
func (m *memory) adopted(certificate types.UID, revision int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	then, ok := m.secrets[certificate]
	return ok && then == revision
}

func (m *memory) adopt(certificate types.UID, revision int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.secrets[certificate] = revision
}

func (m *memory) release(certificate types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.secrets, certificate)
}
