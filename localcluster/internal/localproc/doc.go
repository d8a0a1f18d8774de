// Package localproc runs commands of simulated Pods as processes on this machine. It limits their number, and starts each in its
// own process group. A mark in the environment identifies a process and its children, also after a crash of the supervisor.
//
// It is not a sandbox: the processes have all rights of the user who runs the supervisor.
package localproc
