// Program openapi merges the OpenAPI documents that protoc-gen-openapiv3 writes per service into one document of the v2 API.
//
// It also corrects what the plugin cannot know, because the plugin describes the JSON of protobuf: 64-bit integers are JSON numbers, bodies
// may be YAML, watches are streams, and names in texts are the JSON names.
package main
