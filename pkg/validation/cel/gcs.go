package cel

import "github.com/raygate/raygate/pkg/validation/rule"

// GCSNode is where fault tolerance of the GCS is described.
const GCSNode = "gcsFaultToleranceOptions"

// RedisVariable refuses a variable of the head in whose place there is an option.
func RedisVariable(variable, option string) rule.CEL {
	return rule.CEL{Field: ContainersField, Reason: rule.Forbidden,
		Valid: "!" + FTOptions + " || !" + HeadEnv("e.name == '"+variable+"'"),
		Says:  variable + " is set by the operator; use gcsFaultToleranceOptions." + option}
}

// RocksVariable refuses a variable of the embedded store.
func RocksVariable(variable string) rule.CEL {
	return rule.CEL{Field: ContainersField, Reason: rule.Forbidden,
		Valid: "!" + RocksDB + " || !" + HeadEnv("e.name == '"+variable+"'"),
		Says:  variable + " is set by the operator; use gcsFaultToleranceOptions"}
}

// OfRedis refuses an option of the backend redis next to the backend rocksdb.
func OfRedis(option, absent string) rule.CEL {
	return rule.CEL{Node: GCSNode, Field: "." + option, Reason: rule.Forbidden,
		Valid: "!has(self.backend) || self.backend != 'rocksdb' || " + absent,
		Says:  "belongs to the backend redis; remove it"}
}

// Credential lets an option give a value or where it comes from, not both.
func Credential(option string) rule.CEL {
	return rule.CEL{Node: GCSNode + "." + option, Reason: rule.Forbidden,
		Valid: "!has(self.value) || self.value == '' || !has(self.valueFrom)",
		Says:  "give value or valueFrom, not both"}
}

// StorageName asks an option for the name of an object of a kind.
func StorageName(option, kind string) rule.CEL {
	return rule.CEL{Node: GCSNode + ".storage." + option, Ratchet: rule.ByServer,
		Valid: "self == '' || self.matches('" + dns1123Subdomain + "')",
		Says:  "must be the name of a " + kind + ": lower-case letters, digits, dashes and dots"}
}
