// Package cronplan decides when a RayCronJob runs: which run is due, and when to check again. It is pure and separate from the
// controller. Schedules have the grammar of robfig/cron and its behaviour at clock changes, as in KubeRay 1.7: a local time that
// does not exist is skipped, and one that occurs twice runs twice.
//
// Deliberate differences:
//
//   - After the operator was down or the RayCronJob was suspended, only the newest missed run is created. KubeRay creates all of
//     them at once.
//   - Two runs never share a minute, because the minute is part of their name.
//   - A schedule without any future time is an error instead of being due at once.
package cronplan
