// Package document holds the forms in which an object is shown: which of them there are, the encoded bytes of each, kept once per version of
// the object and bounded in bytes, and the messages that carry such bytes through gRPC and REST without being decoded and encoded again.
//
// A response of gRPC carries an object as a field that protobuf has not parsed: on the wire it is what an encoder would have written, and the
// client reads an ordinary message. A response on the way to REST carries the JSON of an object beside its name; see [Carry].
package document
