// Package child contains what all children of a RayCluster have in common: owner references and labels.
package child
