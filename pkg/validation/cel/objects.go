package cel

import "github.com/raygate/raygate/pkg/validation/rule"

// NameLength bounds a name. Names cannot change, so a stored object with a bad one stays writable.
func NameLength(part rule.Part, limit, why string) rule.CEL {
	return rule.CEL{Part: part, Field: ".metadata.name", OwnWords: true,
		Valid:   "self.metadata.name.size() <= " + limit,
		Says:    "has too many characters, at most " + limit + " are possible, " + why,
		Ratchet: rule.CreateOnly}
}

// NameForm asks for a name that Services can have.
func NameForm(part rule.Part) rule.CEL {
	return rule.CEL{Part: part, Field: ".metadata.name",
		Valid:   "self.metadata.name.matches('" + DNS1035Label + "')",
		Says:    "use lower-case letters, digits and dashes, beginning with a letter and not ending with a dash, as in my-cluster-1",
		Ratchet: rule.CreateOnly}
}

// SpecIsThere also keeps rules on fields of the spec from being passed by by taking away all of it.
func SpecIsThere(part rule.Part, says string) rule.CEL {
	return rule.CEL{Part: part, Field: ".spec", Reason: rule.Required, Valid: "has(self.spec)", Says: says}
}
