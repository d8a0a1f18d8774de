// Package rbac builds what lets the Ray autoscaler in the head Pod work on its cluster: a ServiceAccount, a Role and the
// RoleBinding between them.
package rbac
