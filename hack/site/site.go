package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

//go:embed page.html
var layout string

//go:embed style.css
var style []byte

// page is one file of the repository.
type page struct {
	entry
	// target is the name of the HTML file.
	target string
	source []byte
	tree   ast.Node
	// anchors are the ids of headings, contents those of the second and third level in their order.
	anchors  map[string]bool
	contents []heading
}

// heading is a part of a page.
type heading struct {
	Level         int
	Title, Anchor string
}

// site is all pages in the order of the navigation.
type site struct {
	root     string
	markdown goldmark.Markdown
	pages    []*page
	byFile   map[string]*page
}

// load reads and parses all pages, and turns what names another page into a link to it.
func load(root string) (*site, error) {
	s := &site{root: root, byFile: map[string]*page{},
		markdown: goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))}
	for _, section := range navigation {
		for _, e := range section.entries {
			source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.file)))
			if err != nil {
				return nil, fmt.Errorf("reading a page: %w", err)
			}
			p := &page{entry: e, target: targetOf(e.file), source: source, anchors: map[string]bool{}}
			p.tree = s.markdown.Parser().Parse(text.NewReader(source))
			s.pages = append(s.pages, p)
			s.byFile[e.file] = p
		}
	}
	for _, p := range s.pages {
		s.prepare(p)
	}
	return s, nil
}

func targetOf(file string) string {
	switch file {
	case "README.md":
		return "index.html"
	case "clients/python/README.md":
		return "python.html"
	}
	return strings.ToLower(strings.TrimSuffix(path.Base(file), ".md")) + ".html"
}

// prepare collects anchors and links code spans that name a page.
func (s *site) prepare(p *page) {
	var names []*ast.CodeSpan
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Heading:
			if id, ok := n.AttributeString("id"); ok && entering {
				anchor := string(id.([]byte))
				p.anchors[anchor] = true
				if n.Level == 2 || n.Level == 3 {
					p.contents = append(p.contents, heading{n.Level, textOf(n, p.source), anchor})
				}
			}
		case *ast.Link:
			if entering {
				s.nameByTitle(p, n)
			}
			return ast.WalkSkipChildren, nil
		case *ast.CodeSpan:
			if entering && s.byFile[textOf(n, p.source)] != nil {
				names = append(names, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, span := range names {
		link := ast.NewLink()
		link.Destination = []byte("/" + textOf(span, p.source))
		parent := span.Parent()
		parent.ReplaceChild(parent, span, link)
		link.AppendChild(link, ast.NewString([]byte(s.byFile[textOf(span, p.source)].title)))
	}
}

// nameByTitle gives a link whose text is the name of the file the title of the page: readers of the site see no files.
func (s *site) nameByTitle(p *page, l *ast.Link) {
	file, _, _ := strings.Cut(string(l.Destination), "#")
	to := s.byFile[path.Join(path.Dir(p.file), file)]
	if name := textOf(l, p.source); to == nil || name != to.file && name != path.Base(to.file) {
		return
	}
	l.RemoveChildren(l)
	l.AppendChild(l, ast.NewString([]byte(to.title)))
}

func textOf(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch t := c.(type) {
		case *ast.Text:
			b.Write(t.Segment.Value(source))
		case *ast.CodeSpan:
			b.WriteString(textOf(t, source))
		}
	}
	return b.String()
}

// link is what a page refers to.
type link struct {
	node *ast.Link
	// file is another page or a file of the repository, anchor a heading; both may be empty. outside says that it is on another server.
	file, anchor string
	outside      bool
}

// links are those of a page, with paths from the root of the repository.
func (s *site) links(p *page) []link {
	var all []link
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		l, ok := n.(*ast.Link)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		destination := string(l.Destination)
		found := link{node: l, outside: strings.Contains(destination, "://") || strings.HasPrefix(destination, "mailto:")}
		if !found.outside {
			found.file, found.anchor, _ = strings.Cut(destination, "#")
			if absolute, ok := strings.CutPrefix(found.file, "/"); ok {
				found.file = absolute
			} else if found.file != "" {
				found.file = path.Join(path.Dir(p.file), found.file)
			}
		}
		all = append(all, found)
		return ast.WalkContinue, nil
	})
	return all
}

// broken says what is wrong with the links of a page.
func (s *site) broken(p *page) []string {
	var problems []string
	for _, l := range s.links(p) {
		to := p
		switch {
		case l.outside:
			continue
		case l.file != "":
			if to = s.byFile[l.file]; to != nil {
				break
			}
			if _, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(l.file))); err != nil {
				problems = append(problems, fmt.Sprintf("%s: there is no %s", p.file, l.file))
			}
			continue
		}
		if l.anchor != "" && !to.anchors[l.anchor] {
			problems = append(problems, fmt.Sprintf("%s: %s has no heading #%s", p.file, to.file, l.anchor))
		}
	}
	return problems
}

// source is where files are that are no pages.
const source = "https://github.com/raygate/raygate/blob/main/"

// write makes the files of the site.
func (s *site) write(out string) error {
	shape, err := template.New("page").Parse(layout)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, p := range s.pages {
		if problems := s.broken(p); problems != nil {
			return fmt.Errorf("broken links: %s", strings.Join(problems, "; "))
		}
	}
	for _, p := range s.pages {
		html, err := s.render(p, shape)
		if err != nil {
			return fmt.Errorf("rendering %s: %w", p.file, err)
		}
		if err := os.WriteFile(filepath.Join(out, p.target), html, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(out, "style.css"), style, 0o644)
}

type navEntry struct {
	Title, Target string
	Here          bool
}

type navSection struct {
	Title   string
	Entries []navEntry
}

func (s *site) render(p *page, shape *template.Template) ([]byte, error) {
	for _, l := range s.links(p) {
		switch to := s.byFile[l.file]; {
		case l.outside || l.file == "":
		case to != nil:
			l.node.Destination = []byte(to.target)
			if l.anchor != "" {
				l.node.Destination = []byte(to.target + "#" + l.anchor)
			}
		default:
			l.node.Destination = []byte(source + l.file)
		}
	}
	var body bytes.Buffer
	if err := s.markdown.Renderer().Render(&body, p.source, p.tree); err != nil {
		return nil, err
	}
	var sections []navSection
	for _, sec := range navigation {
		n := navSection{Title: sec.title}
		for _, e := range sec.entries {
			n.Entries = append(n.Entries, navEntry{e.title, targetOf(e.file), e.file == p.file})
		}
		sections = append(sections, n)
	}
	head, rest, _ := strings.Cut(body.String(), "</h1>\n")
	contents := p.contents
	if len(contents) < 4 {
		contents = nil // seen at a glance
	}
	var html bytes.Buffer
	err := shape.Execute(&html, struct {
		Title         string
		Sections      []navSection
		Heading, Body template.HTML
		Contents      []heading
		Source        string
	}{p.title, sections, template.HTML(head + "</h1>"), template.HTML(rest), contents, source + p.file}) //nolint:gosec // our own pages
	return html.Bytes(), err
}
