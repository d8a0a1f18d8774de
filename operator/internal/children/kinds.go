package children

// rules are what the generic comparison has to know about a kind.
type rules struct {
	// once are paths that count only when the object is made: the API server refuses to change them, or a change would do
	// harm.
	once [][]string
	// exact are paths that the builder writes in full. A field below that it leaves empty must be empty, where anywhere else
	// it is taken for a default or for somebody else's.
	exact [][]string
}

// kinds has an entry for each kind that needs rules, by kind. Two groups with a kind of one name would have to be told apart;
// there are none.
var kinds = map[string]rules{
	"Service":               {once: [][]string{{"spec", "clusterIP"}, {"spec", "clusterIPs"}}},
	"Secret":                {once: [][]string{{"data"}, {"stringData"}, {"type"}, {"immutable"}}},
	"PersistentVolumeClaim": {once: [][]string{{"spec"}}},
	"Job":                   {once: [][]string{{"spec"}}},
	"Role":                  {exact: [][]string{{"rules"}}},
	"RoleBinding":           {once: [][]string{{"roleRef"}}, exact: [][]string{{"subjects"}}},
	"Ingress":               {exact: [][]string{{"spec", "rules"}, {"spec", "tls"}}},
	"HTTPRoute":             {exact: [][]string{{"spec", "rules"}}}, // a weight of 0 counts
	"NetworkPolicy":         {exact: [][]string{{"spec", "ingress"}, {"spec", "egress"}, {"spec", "policyTypes"}, {"spec", "podSelector"}}},
}
