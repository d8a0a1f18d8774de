// Package shell analyzes texts as bash parses them. The operator uses bash to start Ray and to submit jobs.
package shell

import (
	"cmp"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxText limits what is parsed: the parser recurses as deep as a text nests, and parses some nested parts repeatedly. Longer texts are not
// checked.
const maxText = 4 << 10

// Plain reports whether a shell accepts the text as it is, without quotes.
func Plain(text string) bool {
	quoted, err := syntax.Quote(text, syntax.LangBash)
	return err == nil && quoted == text
}

// word reads the text as the value of a flag. Nil means that a shell cannot read it, or reads more than this one word.
func word(text string) *syntax.Word {
	const flag = "ray --flag="
	file, err := syntax.NewParser().Parse(strings.NewReader(flag+text), "")
	if err != nil || len(file.Stmts) != 1 || len(file.Stmts[0].Redirs) > 0 {
		return nil
	}
	call, isCall := file.Stmts[0].Cmd.(*syntax.CallExpr)
	if !isCall || len(call.Args) != 2 || int(call.Args[1].End().Offset()) != len(flag+text) {
		return nil
	}
	return call.Args[1]
}

var escaped = regexp.MustCompile(`\\.`)

// OneWord reports whether the value of a flag is one word to a shell, in which it expands at most variables and commands.
func OneWord(value string) bool {
	if Plain(value) || len(value) > maxText {
		return true
	}
	w := word(value)
	if w == nil {
		return false
	}
	for _, part := range w.Parts {
		if lit, isLit := part.(*syntax.Lit); isLit && strings.ContainsAny(escaped.ReplaceAllString(lit.Value, ""), "*?#{}!~") {
			return false
		}
	}
	return true
}

// Expands reports whether a shell changes the value of a flag: it expands variables and commands, and removes quotes. The final value is
// unknown then.
func Expands(value string) bool { return strings.ContainsAny(value, "$`'\"\\") }

// Operator returns the first operator that ends the first command of a command line, in words, or empty, and an error if bash cannot
// read the line.
func Operator(line string) (string, error) {
	if len(line) > maxText {
		return "", nil
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil || len(file.Stmts) == 0 {
		return "", err
	}
	operator := operatorOf(file.Stmts[0], line)
	if operator == "\n" || operator == "" && len(file.Stmts) > 1 {
		operator = "line break"
	}
	return operator, nil
}

func operatorOf(s *syntax.Stmt, line string) string {
	if binary, isBinary := s.Cmd.(*syntax.BinaryCmd); isBinary {
		return cmp.Or(operatorOf(binary.X, line), binary.Op.String())
	}
	if len(s.Redirs) > 0 {
		return s.Redirs[0].Op.String()
	}
	if s.Semicolon.IsValid() {
		return line[s.Semicolon.Offset():][:1]
	}
	if _, simple := s.Cmd.(*syntax.CallExpr); !simple { // as in for x in a; do b; done
		return (line + ";")[strings.IndexAny(line+";", ";\n()"):][:1]
	}
	return ""
}
