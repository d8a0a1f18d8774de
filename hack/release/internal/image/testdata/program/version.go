//go:build more

package main

var version string
