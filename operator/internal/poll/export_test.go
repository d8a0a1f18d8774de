package poll

// Targets is the number of targets that are known.
func (p *Poller[K, V]) Targets() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.targets)
}
