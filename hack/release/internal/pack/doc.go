// Package pack writes archives that depend on their contents alone: sorted names, one time, no owners.
package pack
