// Package shell says what a shell makes of a text.
package shell

import (
	"strings"
)

// ReadShell calls visit for every character that a shell would read itself: those outside of quotes that no backslash
// takes the meaning from. It tells what is open at the end of the text.
func ReadShell(text string, visit func(rune)) (openQuote, openEscape bool) {
	var quote rune
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			escaped = false
		case quote == '\'' && r != '\'':
		case r == '\\':
			escaped = true
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		default:
			visit(r)
		}
	}
	return quote != 0, escaped
}

// ByShell reports whether a shell makes something else of the value, so that nothing can be said about it before: it expands
// variables and commands, and removes quotes.
func ByShell(value string) bool { return strings.ContainsAny(value, "$`'\"\\") }

// UnquotedMeta reports whether a shell would read part of the text as more than itself. Expansion of variables is wanted.
func UnquotedMeta(text string) bool {
	found := false
	openQuote, openEscape := ReadShell(text, func(r rune) { found = found || strings.ContainsRune(" \t\n;&|<>()`*?#{}!~", r) })
	return found || openQuote || openEscape
}
