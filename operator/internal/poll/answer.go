package poll

import (
	"context"
	"time"
)

// Answer is what is known about a target. The zero value means that the target has not been asked yet.
type Answer[V any] struct {
	// Value is the result of the last successful request. It is shared and must not be modified.
	Value V
	// AskedAt is when that request was sent: Value is not older. Zero if no request has succeeded yet.
	AskedAt time.Time
	// Err is the error of the last request; nil if it succeeded or there was none.
	Err error
	// FailedAt is when the last failed request was sent. FailingSince is when the first of the consecutive failures ended. Both are
	// zero while the target answers.
	FailedAt, FailingSince time.Time
}

// Query configures how to ask a target.
type Query[V any] struct {
	// Ask returns the state of the target. It must end when the context does.
	Ask func(context.Context) (V, error)
	// Revision changes whenever Ask uses another address or token. The target is then asked at once, and late answers of the
	// previous revision are dropped.
	Revision string
	// Interval is the time between an answer and the next request; it grows after failures. Timeout limits a request. Both must be
	// positive.
	Interval, Timeout time.Duration
}

// Observer is notified when the answer of a target changes.
type Observer[V any] struct {
	// Changed compares the last answer that the observer has read, or was woken for, with a new one. Nil means that every answer is
	// a change. It must not block.
	Changed func(before, after Answer[V]) bool
	// Wake wakes the observer. It may be called from any goroutine and must not block.
	Wake func()
}

// Command is an action on a target that runs once.
type Command struct {
	// Run must end when the context does.
	Run func(context.Context) error
	// Timeout limits Run and must be positive.
	Timeout time.Duration
	// Wake is called when the outcome is known, with the same rules as Observer.Wake. Nil disables it.
	Wake func()
}

// Outcome is the result of a command.
type Outcome struct {
	// Done means that the command has ended or timed out. Until then it waits or runs.
	Done bool
	// Err is the error of the command. A command that timed out may have taken effect.
	Err error
	// DoneAt is when the command ended.
	DoneAt time.Time
}
