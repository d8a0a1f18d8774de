package config_test

import "testing"

// TestWholeManifestsApply installs an overlay with the schemas and rules of the CRDs, which the other tests leave out: each write of one takes the API
// server seconds of CPU.
func TestWholeManifestsApply(t *testing.T) {
	c, _ := connect(t)
	apply(t, c, render(t, "with-webhooks-self-managed", func(_ string, data []byte) []byte { return data }))
	awaitDeployment(t, c)
	checkConversion(t, c, true)
}
