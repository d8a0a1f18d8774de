// Package webhook answers the API server's calls about ray.io objects: it validates, fills documented defaults, keeps what
// an old client is about to lose, and converts between versions.
//
// It is an adapter. Rules are in pkg/validation, conversion is in operator/internal/conversion. Nothing here asks the API
// server anything, so the webhooks are served by every replica and before any cache is filled. An installation without
// them loses nothing but early answers: the CRDs hold what CEL can say, and the controllers check every object again. For
// the same reason a fault of our own lets an object pass, with a warning, rather than stop all work on it.
package webhook
