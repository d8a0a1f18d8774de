package main

import "github.com/go-logr/logr"

// tee is a log sink that writes to two others, each with its own verbosity and format.
type tee [2]logr.LogSink

var _ logr.CallDepthLogSink = tee{}

// Init implements logr.LogSink. Both sinks are in use already.
func (t tee) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (t tee) Enabled(level int) bool { return t[0].Enabled(level) || t[1].Enabled(level) }

// Info implements logr.LogSink.
func (t tee) Info(level int, msg string, kv ...any) {
	for _, s := range t.deeper() {
		if s.Enabled(level) {
			s.Info(level, msg, kv...)
		}
	}
}

// Error implements logr.LogSink.
func (t tee) Error(err error, msg string, kv ...any) {
	for _, s := range t.deeper() {
		s.Error(err, msg, kv...)
	}
}

// WithValues implements logr.LogSink.
func (t tee) WithValues(kv ...any) logr.LogSink {
	return tee{t[0].WithValues(kv...), t[1].WithValues(kv...)}
}

// WithName implements logr.LogSink.
func (t tee) WithName(name string) logr.LogSink { return tee{t[0].WithName(name), t[1].WithName(name)} }

// WithCallDepth implements logr.CallDepthLogSink.
func (t tee) WithCallDepth(depth int) logr.LogSink {
	for i, s := range t {
		if d, ok := s.(logr.CallDepthLogSink); ok {
			t[i] = d.WithCallDepth(depth)
		}
	}
	return t
}

// deeper adjusts the call depth of the sinks by the tee, so that the source line is correct.
func (t tee) deeper() tee { return t.WithCallDepth(1).(tee) }
