// Package podrun gives life to what of a simulated Pod is real: the containers that submit Ray jobs run as processes of this machine, and
// behind a head Pod stands a simulated Ray head whose jobs run as processes too. All other containers exist in their status only.
//
// A head costs nothing until somebody connects to it.
package podrun
