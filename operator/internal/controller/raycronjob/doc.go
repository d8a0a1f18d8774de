// Package raycronjob makes RayJobs on a schedule. When one is due is decided by package cronplan.
package raycronjob
