// Package authz authorizes reads from the cache. It sends a SelfSubjectAccessReview to Kubernetes as the caller, and caches the answer: a revoked
// permission takes effect within 10 seconds, a new one within 2 seconds. While the API server is away, an answer is used for 5 more minutes, so that
// reads and watches continue. Writes are authorized by the API server itself.
package authz
