// Package codec reads and writes the JSON and YAML of v2 messages, by their descriptors.
//
// It exists because protojson gives up at the first mistake, without a path, takes a key twice, and prints 64-bit integers as
// strings; the v2 API promises all mistakes with their paths, and the JSON of the custom resources. A document is first read into
// a tree, where what is wrong with the text itself is found, and the tree then into the message.
//
// Field names are the JSON names and nothing else. null is the same as absent. A member `managedFields` or `selfLink` of
// ObjectMeta is dropped, so that what `kubectl get -o json` prints can be sent back.
//
// Decode is linear in the document: no more than 250,000 values are read, with the aliases of YAML followed, and at most 400 bytes are allocated for
// each byte of the document, whatever it says (TestHostileDocumentsAreBounded); what a byte costs in time is shown by BenchmarkHostile. At most
// 100 mistakes are reported, and words are sought for those only.
package codec
