// Package features declares the feature gates of the operator.
//
// A gate is asked in cmd, in a step or in the list of steps, and never in builders and rules, which get plain options.
// There is no global gate: cmd makes one and hands it on, so that two operators in one process, as in tests, do not
// share settings.
package features
