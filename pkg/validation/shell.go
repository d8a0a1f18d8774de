package validation

// readShell calls visit for every character that a shell would read itself: those outside of quotes that no backslash
// takes the meaning from. It tells what is open at the end of the text.
func readShell(text string, visit func(rune)) (openQuote, openEscape bool) {
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
