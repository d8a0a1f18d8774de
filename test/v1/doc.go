// Package v1 has the tests that use raygate as clients of KubeRay's API server do. The built gateway and operator run on a real control
// plane with simulated nodes and a simulated Ray. Every step is made by a client that is written here after existing ones, over REST, gRPC
// and the Kubernetes-shaped paths.
//
// The names of the tests and of their cases are those of KubeRay's own end-to-end tests (TestJobs, TestKubernetesPaths), of its documents
// (TestRecipes) and of its clients (TestGoClient, TestPythonClient). TestAcceptance has the requirements of existing clients on a server.
//
// It has no code outside its tests. The programs must have been built (`make build`).
package v1
