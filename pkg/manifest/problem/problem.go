// Package problem has the texts of the mistakes that decoders find in a document. The decoders of wire formats (codec) and of the
// Kubernetes documents inside them (manifest) therefore report the same mistake with the same text. It does not decode.
package problem

import (
	"strconv"
	"strings"
)

// The reasons are stable: clients see them next to the path of a violation.
const (
	// UnknownField is a member no field belongs to.
	UnknownField = "unknown-field"
	// WrongType is a value of another JSON type than that of the field.
	WrongType = "wrong-type"
	// DuplicateKey is a repeated member.
	DuplicateKey = "duplicate-key"
	// OutOfRange is a number the field cannot hold.
	OutOfRange = "out-of-range"
	// BadFormat is a string in a format that the field does not accept, such as a malformed quantity or time.
	BadFormat = "bad-format"
	// InvalidUTF8 is text that is not UTF-8.
	InvalidUTF8 = "invalid-utf8"
	// TooDeep is a document nested deeper than is read.
	TooDeep = "too-deep"
	// TooLarge is a document that becomes too large when its aliases are followed.
	TooLarge = "too-large"
	// Syntax is a document that is not JSON or YAML at all.
	Syntax = "syntax"
)

// Twice is the message for a repeated member.
const Twice = "the key is there twice"

// MaxExact is the largest integer that a google.protobuf.Struct, which stores float64, always stores exactly.
const MaxExact = 1 << 53

// Unknown is the message for an unknown member name, with the known field that was probably meant.
func Unknown(name string, known []string) string {
	msg := "unknown field " + strconv.Quote(Short(name))
	if hint := Closest(name, known); hint != "" {
		msg += ", did you mean " + strconv.Quote(hint) + "?"
	}
	return msg
}

// maxName is the maximum length of a name in a message. Names of Kubernetes are not longer.
const maxName = 320

// Short shortens an overlong name, so that messages about a document stay short.
func Short(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.ToValidUTF8(name[:maxName], "") + "..."
}

// Type is the message for a value of type got where want was expected.
func Type(want, got string) string {
	return "expected " + want + ", got " + got
}

// Text is the message for a value of type got where a string was expected. unquoted means that quotes would make it a string.
func Text(got string, unquoted bool) string {
	if unquoted {
		got += "; put it in quotes"
	}
	return Type("string", got)
}

// Closest returns the name in known that differs from name in case and separators only, or else by one typing error; empty if there is
// none.
func Closest(name string, known []string) string {
	if len(name) > maxName {
		return ""
	}
	best, folded := "", fold(name)
	for _, k := range known {
		if fold(k) == folded {
			return k
		}
		if best == "" && len(name) > 3 && len(name) < 64 && oneSlip(strings.ToLower(name), strings.ToLower(k)) {
			best = k
		}
	}
	return best
}

var separators = strings.NewReplacer("_", "", "-", "")

func fold(s string) string { return separators.Replace(strings.ToLower(s)) }

// oneSlip reports whether a becomes b by adding, leaving out or changing one byte, or by swapping two neighbours.
func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) {
		return true
	}
	if a[i+1:] == b[i+1:] {
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
