// Program thirdparty writes the third-party proto files that this project's protos import into third_party/.
//
// It prints them from the descriptors inside Go modules that go.mod pins. buf therefore needs no schema registry, and the files always
// match the generated Go code. Descriptors have no comments, so the files have none.
package main
