package poll

import (
	"context"
	"time"
)

// Answer is what is known about a target. Its zero value means that it has not been asked yet.
type Answer[V any] struct {
	// Value is that of the last request that succeeded. It is shared and must not be changed.
	Value V
	// AskedAt is when that request was sent: Value is not older. Zero if none succeeded yet.
	AskedAt time.Time
	// Err is how the last request failed; nil if it succeeded or there was none.
	Err error
	// FailedAt is when the last request that failed was sent, and FailingSince when the first one of an unbroken row of
	// failures ended. Both are zero while the target answers.
	FailedAt, FailingSince time.Time
}

// Query says how to ask a target.
type Query[V any] struct {
	// Ask returns the state of the target. It must end when the context does.
	Ask func(context.Context) (V, error)
	// Revision changes whenever Ask asks in another way, at another address or with another token. The target is then asked
	// at once, and what the old way returns late is dropped.
	Revision string
	// Interval is the time between an answer and the next request; it grows after failures. Timeout limits a request. Both
	// must be above 0.
	Interval, Timeout time.Duration
}

// Observer wants to know when the answer of a target changes.
type Observer[V any] struct {
	// Changed compares the answer that the observer has read last, or was woken for, with a new one. Nil means that each
	// answer is a change. It must not block.
	Changed func(before, after Answer[V]) bool
	// Wake tells the observer. It may be called from any goroutine and must not block.
	Wake func()
}

// Command is something to do to a target, once.
type Command struct {
	// Run must end when the context does.
	Run func(context.Context) error
	// Timeout limits it and must be above 0.
	Timeout time.Duration
	// Wake tells that the outcome is known, under the rules of Observer. Nil means nobody.
	Wake func()
}

// Outcome is what became of a command.
type Outcome struct {
	// Done says that the command ran to its end or ran out of time; it waits or runs until then.
	Done bool
	// Err is how it failed. A command that ran out of time may have had its effect.
	Err error
	// DoneAt is when it ended.
	DoneAt time.Time
}
