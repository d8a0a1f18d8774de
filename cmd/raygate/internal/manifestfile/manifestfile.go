// Package manifestfile finds the Kubernetes objects in files: YAML or JSON, several documents, lists.
package manifestfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/manifest"
	"github.com/raygate/raygate/pkg/manifest/problem"
)

// Stdin is the file name for standard input.
const Stdin = "-"

// maxSize limits a file; the API server accepts 3 MiB per request.
const maxSize = 64 << 20

// Source is the content of one file.
type Source struct {
	// Name is the path as given or found, or Stdin.
	Name string
	Data []byte
}

// Document is one object in a file, as JSON.
type Document struct {
	// Source is the name of the file.
	Source string
	// Index counts the documents of the file from 1.
	Index int
	// Line is where the document begins in the file, counted from 1.
	Line int
	// Item counts the items of a list from 1; 0 means that the document is not a list.
	Item int
	// Tree is the object, as package manifest reads it. Nil if the document is not an object.
	Tree map[string]any
	// Mistakes are those in the text of the object, such as a repeated key.
	Mistakes field.ErrorList
	// Unreadable reports that the document is not valid YAML or JSON.
	Unreadable bool

	// text is shared by the items of a list.
	text *text
}

// Read reads files, and all .yaml, .yml and .json files in directories and below, in the order of their names.
func Read(paths []string, stdin io.Reader) ([]Source, error) {
	var sources []Source
	for _, path := range paths {
		found, err := readPath(path, stdin)
		if err != nil {
			return nil, err
		}
		sources = append(sources, found...)
	}
	return sources, nil
}

func readPath(path string, stdin io.Reader) ([]Source, error) {
	if path == Stdin {
		data, err := readLimited(stdin, Stdin)
		return []Source{{Name: Stdin, Data: data}}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading manifests: %w", err)
	}
	if !info.IsDir() {
		source, err := readFile(path)
		return []Source{source}, err
	}
	var sources []Source
	err = filepath.WalkDir(path, func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(p))) {
			return nil
		}
		source, err := readFile(p)
		sources = append(sources, source)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading manifests below %s: %w", path, err)
	}
	if len(sources) == 0 {
		// A misspelt path must not pass for a clean bill of health.
		return nil, fmt.Errorf("reading manifests below %s: there is no file that ends in .yaml, .yml or .json", path)
	}
	return sources, nil
}

func readFile(path string) (Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return Source{}, fmt.Errorf("reading manifests: %w", err)
	}
	defer f.Close()
	data, err := readLimited(f, path)
	return Source{Name: path, Data: data}, err
}

func readLimited(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(data) > maxSize {
		return nil, fmt.Errorf("reading %s: larger than %d MiB", name, maxSize>>20)
	}
	return data, nil
}

// Documents splits a file into its objects. Empty documents are left out; the items of a list come one by one. A document that cannot be read is returned
// with its mistakes.
func Documents(s Source) []Document {
	var documents []Document
	index := 0
	for _, part := range split(s.Data) {
		text, before := part.text, leading(part.text)
		if before == len(text) {
			continue
		}
		index++
		doc := Document{Source: s.Name, Index: index, Line: part.line + bytes.Count(text[:before], []byte("\n")), text: newText(part)}
		content := bytes.TrimSpace(text[before:])
		if string(content) == "null" || string(content) == "~" {
			continue
		}
		doc.Tree, doc.Mistakes = read(text, part.line)
		doc.Unreadable = doc.Tree == nil && doc.Mistakes[0].Origin != problem.WrongType
		documents = append(documents, items(doc)...)
	}
	return documents
}

// read reads the document that begins at a line of its file.
func read(text []byte, line int) (map[string]any, field.ErrorList) {
	if !utf8.Valid(text) {
		return nil, field.ErrorList{manifest.Problem(nil, problem.InvalidUTF8, "the text is not UTF-8; save the file in that encoding")}
	}
	isJSON := bytes.TrimSpace(text)[0] == '{' && json.Valid(text)
	tree, mistakes := manifest.ReadLocal(text, !isJSON)
	for _, m := range mistakes {
		m.Detail = lineOf.ReplaceAllStringFunc(m.Detail, func(words string) string {
			at := strings.LastIndexByte(words, ' ') + 1
			n, _ := strconv.Atoi(words[at:])
			return words[:at] + strconv.Itoa(n+line-1)
		})
	}
	return tree, mistakes
}

// lineOf is where a mistake in YAML names the line of its document.
var lineOf = regexp.MustCompile(`^(not YAML: )?line \d+`)

// items returns the objects of a list, or the object itself.
func items(doc Document) []Document {
	kind, _ := doc.Tree["kind"].(string)
	list, ok := doc.Tree["items"].([]any)
	if !ok || !strings.HasSuffix(kind, "List") {
		return []Document{doc}
	}
	documents := make([]Document, 0, len(list))
	for i, item := range list {
		d := doc
		d.Item, d.Mistakes = i+1, nil
		d.Tree, _ = item.(map[string]any)
		for _, m := range doc.Mistakes {
			if path, within := strings.CutPrefix(m.Field, fmt.Sprintf("items[%d].", i)); within {
				m.Field = path
				d.Mistakes = append(d.Mistakes, m)
			}
		}
		documents = append(documents, d)
	}
	return documents
}

// part is the text of one document and where it begins in the file: the line, counted from 1, and the characters before it on that line.
type part struct {
	text   []byte
	line   int
	before int
}

// marker begins a document.
const marker = "---"

// split cuts at lines that begin a document. A line that only begins with the marker also counts, as in "--- # name".
func split(data []byte) []part {
	var parts []part
	start, startLine, before, line := 0, 1, 0, 0
	for pos := 0; pos < len(data); {
		line++
		end := len(data)
		if i := bytes.IndexByte(data[pos:], '\n'); i >= 0 {
			end = pos + i + 1
		}
		text := data[pos:end]
		if bytes.HasPrefix(text, []byte(marker)) && (len(text) == len(marker) || strings.ContainsRune(" \t\r\n", rune(text[len(marker)]))) {
			parts = append(parts, part{data[start:pos], startLine, before})
			// Text after the marker on its line belongs to the document.
			start, startLine, before = pos+len(marker), line, len(marker)
		}
		pos = end
	}
	return append(parts, part{data[start:], startLine, before})
}

// leading returns the length of the part before the content: blank lines, comments and directives.
func leading(text []byte) int {
	n := 0
	for line := range bytes.Lines(text) {
		content := bytes.TrimSpace(line)
		if len(content) > 0 && content[0] != '#' && content[0] != '%' {
			return n
		}
		n += len(line)
	}
	return n
}
