// Package rbac builds the permissions of the Ray autoscaler in the head Pod: a ServiceAccount, a Role and a RoleBinding.
package rbac
