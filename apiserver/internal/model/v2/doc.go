// Package v2 is the model of the v2 API: each message next to the custom resource it mirrors, in both directions.
//
// ClusterToRay is strict and finds all mistakes at once; ClusterFromRay loses nothing but what metadata never returns
// (managedFields, selfLink, the last-applied annotation). What the API server does not tell apart (an empty list and an absent one
// behind omitempty) comes back as absent. Rules on values belong to pkg/validation, not here.
package v2
