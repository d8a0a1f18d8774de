// Package podrun runs parts of simulated Pods for real: containers that submit Ray jobs run as processes on this machine, and a
// head Pod has a simulated Ray head whose jobs run as processes too. All other containers exist only in the status.
//
// A head uses no resources until the first connection.
package podrun
