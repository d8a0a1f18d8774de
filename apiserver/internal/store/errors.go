package store

import "errors"

// What a Store answers besides the errors of the API server, which it passes on wrapped.
var (
	// ErrPageToken says that a page token was not made by this gateway or belongs to another query.
	ErrPageToken = errors.New("page_token is not one of this query: repeat the list without it")
	// ErrPageTokenExpired says that a page token is older than it may be.
	ErrPageTokenExpired = errors.New("page_token has expired: repeat the list without it")
	// ErrRequestIDReused says that the request_id belongs to an earlier create with another body.
	ErrRequestIDReused = errors.New("request_id was used before with another body: use a new request_id for a new object")
	// ErrResumeToken says that a watch resume token cannot be read.
	ErrResumeToken = errors.New("resume_token is not one that a watch returned")
	// ErrSlowWatcher says that a watch client fell further behind than the gateway remembers.
	ErrSlowWatcher = errors.New("the client reads more slowly than objects change: resume with the last resume_token")
	// ErrVersionRequired says that a replace carries neither a resourceVersion nor allow_overwrite.
	ErrVersionRequired = errors.New("metadata.resourceVersion is required to replace an object: send the one you read, or set allow_overwrite")
	// ErrNotSynced says that the gateway has not yet read the objects from the API server.
	ErrNotSynced = errors.New("the gateway has not finished reading from the Kubernetes API server")
	// ErrNotServed says that the API server does not have the kind.
	ErrNotServed = errors.New("the CustomResourceDefinition of this kind is not installed")
	// ErrFutureVersion says that a client wants to see a version that the API server has not reached.
	ErrFutureVersion = errors.New("x-min-resource-version is newer than anything the Kubernetes API server has: send a resourceVersion that you read")
	// ErrBehind says that the cache has not reached a version that a client wants to see.
	ErrBehind = errors.New("the gateway has not yet seen the version asked for by x-min-resource-version")
)
