// Package authz decides what a caller may read from the cache. It asks Kubernetes, as the caller, with a SelfSubjectAccessReview, and caches the
// answer: a right that was taken away works on for at most 10 s, one just given works after at most 2 s. While the API server is away, an answer
// stands for 5 minutes more, so that reads and watches go on. Writes are not decided here: the API server sees them itself.
package authz
