// Package manifest finds the Kubernetes objects in files: YAML or JSON, several documents, lists.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Stdin is the file name that stands for standard input.
const Stdin = "-"

// maxSize bounds a file; the API server takes 3 MiB per request.
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
	// Item counts the items of a list from 1; 0 means that the document is no list.
	Item int
	// JSON is the object. Nil if Problem is set.
	JSON []byte
	// Problem is why the document cannot be read as an object: broken syntax, a repeated key.
	Problem error
}

// Read reads files, and directories with all that is below and ends in .yaml, .yml or .json, in the order of names.
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

// Documents splits a file into its objects. Empty documents are left out; the items of a list come one by one. A document
// that cannot be read is returned with its Problem.
func Documents(s Source) []Document {
	var documents []Document
	index := 0
	for _, text := range split(s.Data) {
		if blank(text) {
			continue
		}
		index++
		doc := Document{Source: s.Name, Index: index}
		object, err := toJSON(text)
		if err != nil {
			doc.Problem = err
			documents = append(documents, doc)
			continue
		}
		if bytes.Equal(object, []byte("null")) {
			continue
		}
		documents = append(documents, items(doc, object)...)
	}
	return documents
}

// toJSON refuses repeated keys, which a lenient reader would drop.
func toJSON(text []byte) (object []byte, err error) {
	// The parser has panicked on odd input before; a tool that reads anything must not.
	defer func() {
		if r := recover(); r != nil {
			object, err = nil, errors.New("the text cannot be parsed as YAML")
		}
	}()
	// JSON keeps its repeated keys, so that the decoder can tell their paths. YAML cannot.
	if trimmed := bytes.TrimSpace(text); trimmed[0] == '{' && json.Valid(trimmed) {
		return trimmed, nil
	}
	object, err = yaml.YAMLToJSONStrict(text)
	if err != nil {
		text := strings.NewReplacer("yaml: ", "", "unmarshal errors:\n", "", "\n", ";").Replace(err.Error())
		return nil, errors.New(strings.Join(strings.Fields(text), " "))
	}
	return object, nil
}

// items returns the objects of a list, or the object itself.
func items(doc Document, object []byte) []Document {
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(object, &list); err != nil || !strings.HasSuffix(list.Kind, "List") || list.Items == nil {
		doc.JSON = object
		return []Document{doc}
	}
	documents := make([]Document, 0, len(list.Items))
	for i, item := range list.Items {
		d := doc
		d.Item, d.JSON = i+1, item
		documents = append(documents, d)
	}
	return documents
}

// split cuts at lines that begin a document. A line that only begins with the marker also counts, as in "--- # name".
func split(data []byte) [][]byte {
	var parts [][]byte
	start := 0
	for pos := 0; pos < len(data); {
		end := len(data)
		if i := bytes.IndexByte(data[pos:], '\n'); i >= 0 {
			end = pos + i + 1
		}
		line := data[pos:end]
		if bytes.HasPrefix(line, []byte("---")) && (len(line) == 3 || strings.ContainsRune(" \t\r\n", rune(line[3]))) {
			parts = append(parts, data[start:pos])
			// What follows the marker on its line belongs to the document.
			start = pos + 3
		}
		pos = end
	}
	return append(parts, data[start:])
}

// blank reports whether the text holds nothing but comments and directives.
func blank(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}
