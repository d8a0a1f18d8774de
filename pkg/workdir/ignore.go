package workdir

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignoreFiles are the names of the files with rules for their folder and those below.
var ignoreFiles = []string{".gitignore", ".rayignore"}

// always is left out of each package, as Ray does by default.
const always = ".git\n.venv\nvenv\n__pycache__\n"

// rules are those of one ignore file.
type rules struct {
	// base is the path of the folder of the file, empty or with a trailing slash.
	base     string
	patterns []pattern
}

type pattern struct {
	glob string
	// keep means that the line begins with an exclamation mark, folder that it ends with a slash.
	keep, folder bool
}

// parseRules reads an ignore file in the syntax of .gitignore. A line that is no valid pattern matches nothing, as with git.
func parseRules(base, text string) rules {
	r := rules{base: base}
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		if p, ok := parsePattern(strings.TrimSuffix(line, "\r")); ok {
			r.patterns = append(r.patterns, p)
		}
	}
	return r
}

func parsePattern(line string) (p pattern, ok bool) {
	if strings.HasPrefix(line, "#") {
		return p, false
	}
	line = trimSpaces(line)
	line, p.keep = strings.CutPrefix(line, "!")
	line, p.folder = strings.CutSuffix(line, "/")
	line, anchored := strings.CutPrefix(line, "/")
	if line == "" {
		return p, false
	}
	if !anchored && !strings.Contains(line, "/") {
		line = "**/" + line
	}
	if strings.HasSuffix(line, "/**") {
		line += "/*" // in .gitignore it means the content of a folder, and not the folder itself
	}
	p.glob = withoutAlternatives(line)
	return p, doublestar.ValidatePattern(p.glob)
}

// trimSpaces removes spaces at the end of a line, except one behind a backslash.
func trimSpaces(line string) string {
	trimmed := strings.TrimRight(line, " ")
	backslashes := len(trimmed) - len(strings.TrimRight(trimmed, `\`))
	if len(trimmed) < len(line) && backslashes%2 == 1 {
		trimmed += " "
	}
	return trimmed
}

// withoutAlternatives escapes braces, which have no meaning in an ignore file.
func withoutAlternatives(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case c == '\\' && i+1 < len(glob):
			b.WriteByte(c)
			i++
		case c == '{' || c == '}':
			b.WriteByte('\\')
		}
		b.WriteByte(glob[i])
	}
	return b.String()
}

// exclude reports whether the rules leave out a path, of which no parent is left out. The last line that matches decides.
func (r *rules) exclude(path string, folder bool) bool {
	below, ok := strings.CutPrefix(path, r.base)
	if !ok {
		return false
	}
	for _, p := range slices.Backward(r.patterns) {
		if p.folder && !folder {
			continue
		}
		if matched, err := doublestar.Match(p.glob, below); err == nil && matched {
			return !p.keep
		}
	}
	return false
}
