package backoff

// Len is the number of entries.
func (l *Limiter) Len() int { return len(l.entries) }
