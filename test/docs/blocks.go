package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Block is commands that a page shows together.
type Block struct {
	// Page is the path from the root of the repository, Line where the block begins.
	Page string
	Line int
	// Text is the content of the block, without indentation.
	Text string
	// Test is the package and the name of the test that runs it, as in "test/move TestMoveAndBack"; empty for none.
	Test string
	// NotRun is the reason why no test runs the block.
	NotRun string
}

// Where names the place of the block.
func (b Block) Where() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Commands are the lines of the block that are neither empty nor comments. A backslash at the end of a line continues the command in the
// next.
func (b Block) Commands() []string {
	var all []string
	for line := range strings.SplitSeq(strings.ReplaceAll(b.Text, "\\\n", " "), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}

// languages are the languages of fenced blocks with commands.
var languages = []string{"", "sh", "bash", "shell", "console"}

var marker = regexp.MustCompile(`^<!-- (run|not run|not run below): (.+) -->$`)

// Pages are those with commands, relative to the root of the repository.
func Pages(root string) ([]string, error) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	pages = append(pages, filepath.Join(root, "README.md"))
	for i, page := range pages {
		if pages[i], err = filepath.Rel(root, page); err != nil {
			return nil, err
		}
	}
	slices.Sort(pages)
	return pages, nil
}

// Blocks reads the blocks of commands of one page: indented blocks, and fenced ones without a language or with that of a shell.
func Blocks(root, page string) ([]Block, error) {
	data, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return nil, err
	}
	r := &reader{page: page, lines: strings.Split(string(data), "\n")}
	for r.at < len(r.lines) {
		r.next()
	}
	return r.blocks, nil
}

// reader reads the lines of a page.
type reader struct {
	page   string
	lines  []string
	at     int
	blocks []Block
	// here is the marker of the next block, below that of all following blocks.
	here, below Block
	// paragraph means that the previous line belongs to a paragraph, which an indented line would continue.
	paragraph bool
}

func (r *reader) next() {
	line := r.lines[r.at]
	trimmed := strings.TrimSpace(line)
	switch m := marker.FindStringSubmatch(trimmed); {
	case m != nil:
		r.mark(m[1], m[2])
		r.at++
	case strings.HasPrefix(trimmed, "```"):
		r.fenced(strings.TrimPrefix(trimmed, "```"))
	case strings.HasPrefix(line, "    ") && trimmed != "" && !r.paragraph:
		r.indented()
	default:
		if r.paragraph = trimmed != "" && !strings.HasPrefix(trimmed, "<!--"); r.paragraph {
			r.here = Block{}
		}
		r.at++
	}
}

func (r *reader) mark(what, text string) {
	switch what {
	case "run":
		r.here = Block{Test: text}
	case "not run":
		r.here = Block{NotRun: text}
	default:
		r.below = Block{NotRun: text}
	}
	r.paragraph = false
}

func (r *reader) fenced(language string) {
	begin := r.at + 1
	r.at++
	for r.at < len(r.lines) && !strings.HasPrefix(strings.TrimSpace(r.lines[r.at]), "```") {
		r.at++
	}
	if slices.Contains(languages, language) {
		r.add(begin, r.lines[begin:min(r.at, len(r.lines))])
	}
	r.at++
	r.paragraph = false
}

func (r *reader) indented() {
	begin := r.at
	var text []string
	for ; r.at < len(r.lines); r.at++ {
		line := r.lines[r.at]
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "    ") {
			break
		}
		text = append(text, strings.TrimPrefix(line, "    "))
	}
	r.add(begin, text)
}

func (r *reader) add(begin int, text []string) {
	b := r.here
	if b == (Block{}) {
		b = r.below
	}
	b.Page, b.Line, b.Text = r.page, begin+1, strings.TrimSpace(strings.Join(text, "\n"))
	r.blocks = append(r.blocks, b)
	r.here = Block{}
}

// RunBy returns the blocks of all pages that a test runs, in their order.
func RunBy(root, test string) ([]Block, error) {
	pages, err := Pages(root)
	if err != nil {
		return nil, err
	}
	var found []Block
	for _, page := range pages {
		blocks, err := Blocks(root, page)
		if err != nil {
			return nil, err
		}
		for _, b := range blocks {
			if b.Test == test {
				found = append(found, b)
			}
		}
	}
	return found, nil
}
