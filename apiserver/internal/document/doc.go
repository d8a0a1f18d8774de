// Package document holds the forms in which an object is shown: which of them there are, the encoded bytes of each, kept once per version of
// the object and bounded in bytes, and the ways in which such bytes reach a client without being decoded and encoded again.
//
// A response of gRPC has an object as a field that protobuf has not parsed: on the wire it is what an encoder would have written, and the
// client reads an ordinary message. An answer by REST has the JSON of objects beside its message; see [Exchange].
package document
