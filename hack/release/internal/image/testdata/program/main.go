// Command program is the program in the images of the tests.
package main

var version string

func main() { println(version) }
