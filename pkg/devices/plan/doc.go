// Package plan carries a registry of device families out on a Pod: what has to be added to it, what is wrong with it, and what it takes of a
// quota. It is a function of its arguments: it reads no clock, no cluster and no globals, so that webhooks, quota, controllers and
// the command line cannot come to different results.
//
// A plan holds these invariants, which its tests and fuzz targets state: applying it and planning again changes nothing; nothing is ever removed,
// and fields that this program does not know survive; the same Pod and registry give the same bytes.
package plan
