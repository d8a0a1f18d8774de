// Package shipped contains the registry that comes with the operator.
package shipped

import _ "embed"

// HAMi are the families that HAMi knows. What is read of it is not to be changed.
//
//go:embed hami.yaml
var HAMi []byte
