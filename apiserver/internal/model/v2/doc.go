// Package v2 is the model of the v2 API: each message mirrors a custom resource, under the same JSON names. So there is one conversion for all
// of them, by way of the JSON and by their descriptors: AppendJSON and Tree turn a message into JSON, Fill turns the JSON of what is stored into the
// message, leaving out what the message does not have. A test holds the fields of both to each other. Documents that clients write are read by
// pkg/kubedoc, into the Go type of the custom resource, which finds all mistakes at once.
//
// What the API server does not tell apart (an empty list and an absent one behind omitempty) comes back as absent. Rules on values belong to
// pkg/validation, not here.
package v2
