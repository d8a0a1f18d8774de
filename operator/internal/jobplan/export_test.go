package jobplan

import rayv1 "github.com/raygate/raygate/api/ray/v1"

// Edge is a transition that the life cycle has.
type Edge struct {
	Rule     string
	From, To rayv1.JobDeploymentStatus
}

// Edges lists the transitions of the life cycle, without those from a state to itself. A rule that fails an attempt may lead
// to Retrying instead, and has one edge each.
func Edges() []Edge {
	var edges []Edge
	for from, rules := range table {
		for _, r := range rules {
			if r.to == from {
				continue
			}
			edges = append(edges, Edge{r.name, from, r.to})
			if r.to == failed && r.name != "FailedBefore" {
				edges = append(edges, Edge{r.name, from, retrying})
			}
		}
	}
	return edges
}
