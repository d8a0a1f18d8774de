// Command program is the program in the images of the tests. It only compiles with the build tag more.
package main

func main() { println(version) }
