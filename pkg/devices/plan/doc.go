// Package plan applies a registry of device families to a Pod: it returns the additions to the Pod, its problems, and its usage of quotas.
// It depends only on its arguments and reads no clock, no cluster and no globals. Webhooks, quota, controllers and the command line
// therefore get the same results.
//
// A plan has these invariants, which its tests and fuzz targets check: applying it and planning again changes nothing; nothing is ever
// removed; fields that this program does not know are kept; the same Pod and registry give the same bytes.
package plan
