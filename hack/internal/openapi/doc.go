// Program openapi makes the one OpenAPI document of the v2 API out of those that protoc-gen-openapiv3 writes per service.
//
// It also corrects what the plugin, which describes the JSON of protobuf, cannot know about ours: 64-bit integers are JSON
// numbers, bodies may be YAML, watches are streams, and names in texts are the JSON names.
package main
