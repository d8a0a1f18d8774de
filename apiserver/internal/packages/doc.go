// Package packages keeps packages of files for RayJobs whose clusters do not exist yet, in a bucket below packages/NAMESPACE/.
//
// The name of a package has the SHA-256 sum of its content, which Put checks: nobody can store other files under the name of a package.
//
// Ray has no credentials of the gateway. It fetches a package by a URL with a sealed text, which names the namespace, the package and the
// RayJob. The URL is valid while that RayJob exists, has the URL in its runtime environment, and has not ended.
package packages
