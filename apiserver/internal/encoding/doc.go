// Package encoding has the forms in which an object is returned, and the encoded bytes of each. It keeps them once per version of the
// object within a limit in bytes, and passes them to clients without decoding and encoding them again.
//
// A response of gRPC has an object as a field that protobuf has not parsed: the bytes on the wire are those that an encoder would have
// written, and the client reads an ordinary message. An answer by REST has the JSON of objects beside its message; see [Exchange].
package encoding
