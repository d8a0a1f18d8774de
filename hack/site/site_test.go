package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

const root = "../.."

// TestLinks: each link within the site and to files of the repository leads somewhere, anchors included, without a network.
func TestLinks(t *testing.T) {
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	inside := 0
	for _, p := range s.pages {
		for _, problem := range s.broken(p) {
			t.Error(problem)
		}
		for _, l := range s.links(p) {
			if !l.outside {
				inside++
			}
		}
	}
	if inside < 50 {
		t.Errorf("%d links, want many: this test looks at nothing", inside)
	}
}

// named are pages that a text names without a link.
var named = regexp.MustCompile("`(docs/[a-z-]+\\.md)`")

// TestEveryPageIsThere: the navigation has each file of docs/ once, and texts name no page that is gone.
func TestEveryPageIsThere(t *testing.T) {
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if name := "docs/" + filepath.Base(file); s.byFile[name] == nil {
			t.Errorf("%s is not in the navigation", name)
		}
	}
	if len(s.pages) != len(s.byFile) {
		t.Error("the navigation has a page twice")
	}
	targets := map[string]bool{}
	for _, p := range s.pages {
		if targets[p.target] {
			t.Errorf("two pages become %s", p.target)
		}
		targets[p.target] = true
		for _, m := range named.FindAllStringSubmatch(string(p.source), -1) {
			if s.byFile[m[1]] == nil {
				t.Errorf("%s names %s, which is no page", p.file, m[1])
			}
		}
	}
}

// toMarkdown are links to files that are not rendered.
var toMarkdown = regexp.MustCompile(`href="([^"]*\.md[^"]*)"`)

// TestWrite: the site can be read without a network: it loads nothing from other servers.
func TestWrite(t *testing.T) {
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := s.write(out); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.pages {
		html, err := os.ReadFile(filepath.Join(out, p.target))
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"<script", `src="http`, `<link rel="stylesheet" href="http`} {
			if strings.Contains(string(html), bad) {
				t.Errorf("%s has %s", p.target, bad)
			}
		}
		for _, m := range toMarkdown.FindAllStringSubmatch(string(html), -1) {
			if !strings.HasPrefix(m[1], source) {
				t.Errorf("%s leads to %s, which is no HTML", p.target, m[1])
			}
		}
		if !strings.Contains(string(html), `aria-current="page"`) || !strings.Contains(string(html), "<h1") {
			t.Errorf("%s has no navigation or no title", p.target)
		}
	}
	if css, err := os.ReadFile(filepath.Join(out, "style.css")); err != nil || !strings.Contains(string(css), "prefers-color-scheme: dark") {
		t.Errorf("no dark colours: %v", err)
	}
}

// TestContents: a page of many parts lists them, each entry leading to its heading, and a short one does not.
func TestContents(t *testing.T) {
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := s.write(out); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"reference.html": `<li class="below"><a href="#createcluster">CreateCluster</a></li>`,
		"cli.html":       `<li class="below"><a href="#raygate-apply">raygate apply</a></li>`,
		"gateway.html":   `<li><a href="#diagnoses">Diagnoses</a></li>`,
		"rbac.html":      `<li class="below"><a href="#operatorconfigrbacroleyaml">operator/config/rbac/role.yaml</a></li>`,
		"concepts.html":  "",
	} {
		html, err := os.ReadFile(filepath.Join(out, file))
		if err != nil {
			t.Fatal(err)
		}
		if listed := strings.Contains(string(html), "On this page"); listed != (want != "") || !strings.Contains(string(html), want) {
			t.Errorf("%s lists its parts: %v; it should have %s", file, listed, want)
		}
		for _, p := range s.pages {
			for _, h := range p.contents {
				if p.target == file && !strings.Contains(string(html), `id="`+h.Anchor+`"`) {
					t.Errorf("%s lists %s, which is no heading", file, h.Anchor)
				}
			}
		}
	}
}

// TestLinksAreNamedByTitles: who reads the site sees no names of files in the place of its pages.
func TestLinksAreNamedByTitles(t *testing.T) {
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := s.write(out); err != nil {
		t.Fatal(err)
	}
	html, err := os.ReadFile(filepath.Join(out, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `<a href="localcluster.html">The local cluster</a>`; !strings.Contains(string(html), want) {
		t.Errorf("index.html lacks %s in its text", want)
	}
	for _, p := range s.pages {
		html, err := os.ReadFile(filepath.Join(out, p.target))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range nameOfPage.FindAllString(string(html), -1) {
			t.Errorf("%s has %s", p.target, m)
		}
	}
}

var nameOfPage = regexp.MustCompile(`<a href="[a-z-]+\.html[^"]*">(<code>)?[A-Za-z/-]+\.md`)

// TestBrokenLinksAreFound: the test of the links can fail.
func TestBrokenLinksAreFound(t *testing.T) {
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{entry: entry{"x", "docs/x.md"}, source: []byte("# Title\n\n[a](#title) [b](#gone) [c](gone.md) [d](webhooks.md#gone) [e](webhooks.md) [f](../samples) [g](https://example.com/gone)\n"), anchors: map[string]bool{}}
	p.tree = s.markdown.Parser().Parse(text.NewReader(p.source), parser.WithContext(parser.NewContext()))
	s.prepare(p)
	if got := s.broken(p); len(got) != 3 {
		t.Errorf("%q, want three broken links", got)
	}
}
