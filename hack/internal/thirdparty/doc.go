// Program thirdparty writes the proto files of others that ours import into third_party/.
//
// They are printed from the descriptors inside Go modules that go.mod pins anyway, so that buf needs no schema registry and
// the files cannot be of another version than the generated Go code they stand for. Descriptors carry no comments, so the
// files have none.
package main
