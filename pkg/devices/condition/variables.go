package condition

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
)

// variables are the CEL variables of an input.
type variables struct{ *Input }

// ResolveName implements cel.Activation.
func (v variables) ResolveName(name string) (any, bool) {
	switch name {
	case containerName:
		return v.Container, true
	case containerInit:
		return v.Init, true
	case containerSidecar:
		return v.Sidecar, true
	case containerPrivileged:
		return v.Privileged, true
	case containerLimits:
		return v.Limits, true
	case containerRequests:
		return v.Requests, true
	case podLabels:
		return v.Labels, true
	case podAnnotations:
		return v.Annotations, true
	}
	field, ok := strings.CutPrefix(name, requestPrefix)
	if !ok || v.Amount == nil {
		return int64(0), ok
	}
	return v.Amount(field), true
}

// Parent implements cel.Activation.
func (variables) Parent() cel.Activation { return nil }

// Limits that Kubernetes permits, and more keys than Pods have.
const (
	maxKeys       = 1000
	maxKey        = 253 + 1 + 63
	maxLabel      = 63
	maxAnnotation = 256 << 10
)

// sizes are the sizes of the largest Pod.
type sizes struct{}

// EstimateSize implements checker.CostEstimator.
func (sizes) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	upTo := func(n uint64) *checker.SizeEstimate { return &checker.SizeEstimate{Max: n} }
	path := node.Path()
	switch {
	case len(path) == 1 && node.Type().Kind() == types.MapKind:
		return upTo(maxKeys)
	case len(path) > 1 && path[1] == "@keys":
		return upTo(maxKey)
	case len(path) > 0 && path[0] != podAnnotations && node.Type().Kind() == types.StringKind:
		return upTo(maxLabel) // labels, names and quantities
	case node.Type().Kind() == types.StringKind:
		return upTo(maxAnnotation)
	default:
		return nil
	}
}

// EstimateCallCost implements checker.CostEstimator.
func (sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
