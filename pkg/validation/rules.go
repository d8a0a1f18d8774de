package validation

import (
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/rule"
)

// What callers need of package rule.
type (
	// Object is a pointer to an object of one of the kinds that this package knows.
	Object = metadata.Object
	// Rule is the declaration of a rule.
	Rule = rule.Rule
	// Options are what the rules know besides the object.
	Options = rule.Options
	// Facts are what a controller has seen in the namespace of the object.
	Facts = rule.Facts
	// Gate is the name of a feature gate of the operator that decides about a field.
	Gate = rule.Gate
	// Severity says what a rule does to an object that breaks it.
	Severity = rule.Severity
	// Layer is a place that can tell of a broken rule.
	Layer = rule.Layer
)

// Values of Severity, Tier and Layer.
const (
	SeverityError   = rule.SeverityError
	SeverityWarning = rule.SeverityWarning
	SeverityBoth    = rule.SeverityBoth
	TierPeer        = rule.Peer
	TierKubernetes  = rule.Kubernetes
	TierAdvice      = rule.Advice
	LayerPackage    = rule.LayerPackage
	LayerController = rule.LayerController
	LayerSchema     = rule.LayerSchema
)

// Gates that rules ask for.
const (
	GateDeletionPolicy          = rule.GateDeletionPolicy
	GateMultiHostIndexing       = rule.GateMultiHostIndexing
	GateNetworkPolicy           = rule.GateNetworkPolicy
	GateMTLS                    = rule.GateMTLS
	GateHistoryServer           = rule.GateHistoryServer
	GateEmbeddedGCSStorage      = rule.GateEmbeddedGCSStorage
	GateIncrementalUpgrade      = rule.GateIncrementalUpgrade
	GateCronJob                 = rule.GateCronJob
	GateSidecarSubmitterRestart = rule.GateSidecarSubmitterRestart
)

// ParseGates reads settings such as "RayClusterMTLS=true" into Options.Gates.
var ParseGates = rule.ParseGates

// Rules returns every rule that this package reports, in the order of their ids.
func Rules() []*Rule { return rule.All() }
