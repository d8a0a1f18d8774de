// Package headpod finds the address of a cluster's head Pod and connects to it, for the gateway and the operator. It exists because a tenant controls
// everything else that names a dashboard: the head Service may be of type ExternalName, DNS may be answered by a tenant, and a status may be written by
// others. A Pod has its address from the kubelet. Connections therefore go to the address of a Pod that the RayCluster controls, and to nothing else.
//
// The dialer is a second line of defense. It resolves no names and refuses addresses that no Pod has.
package headpod
