// Package v1 holds the tests that use raygate as clients of KubeRay's API server do: the built gateway and operator run on a real control plane with
// simulated nodes and a simulated Ray, and every step is one of a client written here with the habits of those that there are, over REST, gRPC and the
// Kubernetes-shaped paths.
//
// The names of the tests and of their cases are those of KubeRay's own end-to-end tests (TestJobs, TestKubernetesPaths), of its documents (TestRecipes)
// and of its clients (TestGoClient, TestPythonClient). TestAcceptance has what makes a server one that existing clients work with unchanged.
//
// It has no code outside its tests. The programs must have been built (`make build`).
package v1
