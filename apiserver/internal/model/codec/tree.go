package codec

import "strconv"

type kind uint8

const (
	kindNone kind = iota // there is no value: it could not be read
	kindNull
	kindBool
	kindNumber
	kindString
	kindList
	kindObject
)

// node is a value of a document. Numbers keep their digits.
type node struct {
	kind    kind
	truth   bool
	text    string
	items   []node
	members []member
}

type member struct {
	key   string
	value node
}

// describe names the value, with its text when that is short.
func (n *node) describe() string {
	switch n.kind {
	case kindBool:
		return "boolean " + strconv.FormatBool(n.truth)
	case kindNumber:
		if len(n.text) > 64 {
			return "number"
		}
		return "number " + n.text
	case kindString:
		if len(n.text) > 64 {
			return "string"
		}
		return "string " + strconv.Quote(n.text)
	case kindList:
		return "list"
	case kindObject:
		return "object"
	default:
		return "null"
	}
}

// objectBuilder collects members and knows the keys it has. Objects with many members get an index.
type objectBuilder struct {
	members []member
	index   map[string]struct{}
}

func (b *objectBuilder) has(key string) bool {
	if len(b.members) > 16 {
		if b.index == nil {
			b.index = make(map[string]struct{}, 2*len(b.members))
			for _, m := range b.members {
				b.index[m.key] = struct{}{}
			}
		}
		_, there := b.index[key]
		return there
	}
	for i := range b.members {
		if b.members[i].key == key {
			return true
		}
	}
	return false
}

func (b *objectBuilder) add(key string, value node) {
	b.members = append(b.members, member{key: key, value: value})
	if b.index != nil {
		b.index[key] = struct{}{}
	}
}
