// Package webhook serves the webhooks for ray.io objects: it validates, sets documented defaults, keeps fields that an old client
// would lose, and converts between versions.
//
// It is an adapter. Rules are in pkg/validation, conversion is in operator/internal/conversion. Nothing here calls the API server,
// so every replica serves the webhooks before any cache is synced. Without them an installation loses only early feedback: CRDs
// contain the CEL rules, and controllers check every object again. For that reason an internal error lets an object pass with a
// warning instead of blocking all writes.
package webhook
