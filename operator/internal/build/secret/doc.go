// Package secret builds the Secret with the token for the Ray APIs of a cluster.
package secret
