package codec

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	yaml "go.yaml.in/yaml/v3"
)

// jsonToYAML turns JSON that this package wrote into block style YAML with the keys in the same order.
func jsonToYAML(data []byte) ([]byte, error) {
	p := &problems{}
	root := parseJSON(data, p)
	if err := p.err(); err != nil {
		return nil, fmt.Errorf("reading back the JSON: %w", err)
	}
	if root.kind == kindNone {
		return nil, errors.New("reading back the JSON: there is none")
	}
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	enc.SetIndent(2)
	if err := enc.Encode(toYAML(&root)); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	return buf.Bytes(), nil
}

func toYAML(n *node) *yaml.Node {
	switch n.kind {
	case kindBool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(n.truth)}
	case kindNumber:
		tag := "!!int"
		if strings.ContainsAny(n.text, ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: n.text}
	case kindString:
		return yamlString(n.text)
	case kindList:
		out := &yaml.Node{Kind: yaml.SequenceNode, Style: flowIfEmpty(len(n.items))}
		for i := range n.items {
			out.Content = append(out.Content, toYAML(&n.items[i]))
		}
		return out
	case kindObject:
		out := &yaml.Node{Kind: yaml.MappingNode, Style: flowIfEmpty(len(n.members))}
		for i := range n.members {
			out.Content = append(out.Content, yamlString(n.members[i].key), toYAML(&n.members[i].value))
		}
		return out
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	}
}

func flowIfEmpty(n int) yaml.Style {
	if n == 0 {
		return yaml.FlowStyle
	}
	return 0
}

var (
	// plainText is what no reader of any YAML version takes for something else than a string, but for plainWords.
	plainText  = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./-]*$`)
	plainWords = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null)$`)
)

// yamlString quotes whenever in doubt: a string must stay one for readers of YAML 1.1 and 1.2.
func yamlString(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case plainText.MatchString(s) && !plainWords.MatchString(s):
	case isBlock(s):
		n.Style = yaml.LiteralStyle
	default:
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// isBlock reports whether s reads best, and unchanged, as a literal block.
func isBlock(s string) bool {
	if !strings.Contains(strings.TrimRight(s, "\n"), "\n") || unicode.IsSpace(rune(s[0])) || strings.Contains(s, " \n") {
		return false
	}
	for _, r := range s {
		if r != '\n' && (r > unicode.MaxASCII || !unicode.IsPrint(r)) {
			return false
		}
	}
	return true
}
