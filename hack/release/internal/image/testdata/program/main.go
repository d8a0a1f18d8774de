// Command program is what the tests make an image of.
package main

var version string

func main() { println(version) }
