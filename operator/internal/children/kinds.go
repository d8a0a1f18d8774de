package children

// rules configure the generic comparison for a kind.
type rules struct {
	// once are paths that are set only at creation: the API server rejects their change, or a change would do harm.
	once [][]string
	// exact are paths that the builder sets completely. Empty fields below them must be empty in the object. Elsewhere an extra
	// value counts as a default or as that of another client.
	exact [][]string
}

// kinds contains the rules by kind. It assumes that no two API groups have a kind of the same name.
var kinds = map[string]rules{
	"Service":               {once: [][]string{{"spec", "clusterIP"}, {"spec", "clusterIPs"}}},
	"Secret":                {once: [][]string{{"data"}, {"stringData"}, {"type"}, {"immutable"}}},
	"PersistentVolumeClaim": {once: [][]string{{"spec"}}},
	"Job":                   {once: [][]string{{"spec"}}},
	"Role":                  {exact: [][]string{{"rules"}}},
	"RoleBinding":           {once: [][]string{{"roleRef"}}, exact: [][]string{{"subjects"}}},
	"Ingress":               {exact: [][]string{{"spec", "rules"}, {"spec", "tls"}}},
	"HTTPRoute":             {exact: [][]string{{"spec", "rules"}}}, // a weight of 0 counts
	"GRPCRoute":             {exact: [][]string{{"spec", "rules"}}},
	"NetworkPolicy":         {exact: [][]string{{"spec", "ingress"}, {"spec", "egress"}, {"spec", "policyTypes"}, {"spec", "podSelector"}}},
}
