// Package features declares the feature gates of the operator.
//
// Gates are read in cmd, in a step or in the list of steps, never in builders and rules, which get plain options. There is no
// global gate: cmd creates one and passes it on, so that two operators in one process, as in tests, do not share settings.
package features
