// Package localproc runs commands of simulated Pods as processes of this machine: so many at a time, each in a process group of its own, with
// a mark in its environment by which it and what it starts are found again, also after a crash of the supervisor.
//
// It is no sandbox. The processes have the rights of the user who runs the supervisor, and no more.
package localproc
