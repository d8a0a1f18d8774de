// Package raycronjob creates RayJobs on a schedule. Package cronplan decides when one is due.
package raycronjob
