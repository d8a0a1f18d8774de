// Package secret builds the Secret with the token that guards the Ray APIs of a cluster.
package secret
