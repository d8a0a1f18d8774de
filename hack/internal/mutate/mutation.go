package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
)

// mutation replaces a part of a file.
type mutation struct {
	pkg, file  string // import path and path
	at, what   string // for people
	begin, end int    // offsets
	with       string
	source     []byte
}

// text is the file with the change.
func (m mutation) text() []byte {
	return slices.Concat(m.source[:m.begin], []byte(m.with), m.source[m.end:])
}

var operators = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==", token.LSS: ">=", token.GEQ: "<", token.GTR: "<=", token.LEQ: ">",
	token.LAND: "||", token.LOR: "&&", token.ADD: "-", token.SUB: "+",
}

// mutationsOf returns all changes of a file: other operators, negated conditions, the other truth value, and calls left out.
func mutationsOf(path string) ([]mutation, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", path, err)
	}
	if ast.IsGenerated(tree) {
		return nil, nil
	}
	var all []mutation
	add := func(begin, end token.Pos, with string) {
		m := mutation{file: path, source: source, begin: files.Position(begin).Offset, end: files.Position(end).Offset, with: with}
		m.at = fmt.Sprintf("%s:%d", path, files.Position(begin).Line)
		m.what = fmt.Sprintf("%q becomes %q", oneLine(source[m.begin:m.end]), with)
		all = append(all, m)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if with, ok := operators[n.Op]; ok {
				add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), with)
			}
		case *ast.IfStmt:
			add(n.Cond.Pos(), n.Cond.End(), "!("+string(source[files.Position(n.Cond.Pos()).Offset:files.Position(n.Cond.End()).Offset])+")")
		case *ast.Ident:
			if with, ok := map[string]string{"true": "false", "false": "true"}[n.Name]; ok {
				add(n.Pos(), n.End(), with)
			}
		case *ast.ExprStmt:
			if _, ok := n.X.(*ast.CallExpr); ok {
				add(n.Pos(), n.End(), "{}")
			}
		}
		return true
	})
	return all, nil
}

func oneLine(text []byte) string { return strings.Join(strings.Fields(string(text)), " ") }
