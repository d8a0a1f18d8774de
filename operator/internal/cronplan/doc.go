// Package cronplan decides when a RayCronJob runs: which run is due, and when to look again. It is a pure decision apart from
// the controller. The grammar of schedules, and what becomes of them where clocks change, is that of robfig/cron, as in
// KubeRay 1.7: a local time that does not exist is not run, and one that comes twice is run twice.
//
// Deliberate differences:
//
//   - Of the runs that were missed while the operator was away, or while the RayCronJob was suspended, only the newest is made
//     up for. KubeRay makes them all at once.
//   - Two runs never share a minute, whose number is in their name.
//   - A schedule that never comes is an error, and not due at once.
package cronplan
