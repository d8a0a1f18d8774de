package codec

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/raygate/raygate/apiserver/internal/document"
)

// AppendJSON appends the JSON of m to dst, as Encode gives it. It fails for a Struct with a number that JSON does not have
// (NaN, infinite) and for a Timestamp out of range.
func AppendJSON(dst []byte, m proto.Message) ([]byte, error) {
	return appendMessage(dst, m.ProtoReflect())
}

func appendMessage(dst []byte, m protoreflect.Message) ([]byte, error) {
	switch typed := m.Interface().(type) {
	case *timestamppb.Timestamp:
		if err := typed.CheckValid(); err != nil {
			return nil, fmt.Errorf("encoding a time: %w", err)
		}
		dst = append(dst, '"')
		dst = typed.AsTime().AppendFormat(dst, "2006-01-02T15:04:05.999999999Z07:00")
		return append(dst, '"'), nil
	case *structpb.Struct:
		return appendStruct(dst, typed)
	}
	if data := document.Carried(m); data != nil {
		return append(dst, data...), nil
	}
	dst = append(dst, '{')
	first := true
	for _, f := range planOf(m.Descriptor()) {
		if !f.always && !m.Has(f.fd) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, f.prefix...)
		var err error
		if dst, err = appendField(dst, m.Get(f.fd), f.fd); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// fieldPlan is what encoding needs to know about a field.
type fieldPlan struct {
	fd     protoreflect.FieldDescriptor
	prefix []byte // the name in quotes and a colon
	// always is set for required fields without presence, which Kubernetes wants to see even when they are empty, such as
	// the message of a condition.
	always bool
}

var plans sync.Map // protoreflect.FullName -> []fieldPlan

func planOf(md protoreflect.MessageDescriptor) []fieldPlan {
	if plan, ok := plans.Load(md.FullName()); ok {
		return plan.([]fieldPlan)
	}
	fields := md.Fields()
	plan := make([]fieldPlan, fields.Len())
	for i := range plan {
		fd := fields.Get(i)
		behavior, _ := proto.GetExtension(fd.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
		plan[i] = fieldPlan{
			fd:     fd,
			prefix: append(appendString(nil, fd.JSONName()), ':'),
			always: !fd.HasPresence() && fd.Cardinality() != protoreflect.Repeated && slices.Contains(behavior, annotations.FieldBehavior_REQUIRED),
		}
	}
	plans.Store(md.FullName(), plan)
	return plan
}

func appendField(dst []byte, value protoreflect.Value, fd protoreflect.FieldDescriptor) ([]byte, error) {
	var err error
	switch {
	case fd.IsList():
		list := value.List()
		dst = append(dst, '[')
		for i := range list.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendValue(dst, list.Get(i), fd); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case fd.IsMap():
		mp := value.Map()
		keys := make([]string, 0, mp.Len())
		mp.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
			keys = append(keys, k.String())
			return true
		})
		slices.Sort(keys)
		dst = append(dst, '{')
		for i, key := range keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, key), ':')
			// Only maps with string keys stand in our messages; a test holds the protos to that.
			if dst, err = appendValue(dst, mp.Get(protoreflect.ValueOfString(key).MapKey()), fd.MapValue()); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	default:
		return appendValue(dst, value, fd)
	}
}

func appendValue(dst []byte, value protoreflect.Value, fd protoreflect.FieldDescriptor) ([]byte, error) {
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return appendMessage(dst, value.Message())
	case protoreflect.StringKind:
		return appendString(dst, value.String()), nil
	case protoreflect.BoolKind:
		return strconv.AppendBool(dst, value.Bool()), nil
	case protoreflect.FloatKind:
		return appendFloat(dst, value.Float(), 32)
	case protoreflect.DoubleKind:
		return appendFloat(dst, value.Float(), 64)
	case protoreflect.EnumKind:
		if ev := fd.Enum().Values().ByNumber(value.Enum()); ev != nil {
			return appendString(dst, string(ev.Name())), nil
		}
		return strconv.AppendInt(dst, int64(value.Enum()), 10), nil
	case protoreflect.BytesKind:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, value.Bytes())
		return append(dst, '"'), nil
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return strconv.AppendUint(dst, value.Uint(), 10), nil
	default:
		return strconv.AppendInt(dst, value.Int(), 10), nil
	}
}

func appendStruct(dst []byte, s *structpb.Struct) ([]byte, error) {
	fields := s.GetFields()
	dst = append(dst, '{')
	var err error
	for i, key := range slices.Sorted(maps.Keys(fields)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, key), ':')
		if dst, err = appendStructValue(dst, fields[key]); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendStructValue(dst []byte, v *structpb.Value) ([]byte, error) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_BoolValue:
		return strconv.AppendBool(dst, k.BoolValue), nil
	case *structpb.Value_StringValue:
		return appendString(dst, k.StringValue), nil
	case *structpb.Value_NumberValue:
		return appendFloat(dst, k.NumberValue, 64)
	case *structpb.Value_StructValue:
		return appendStruct(dst, k.StructValue)
	case *structpb.Value_ListValue:
		dst = append(dst, '[')
		var err error
		for i, item := range k.ListValue.GetValues() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendStructValue(dst, item); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	default:
		return append(dst, "null"...), nil
	}
}

// appendFloat prints integers as such, up to where every integer is exact.
func appendFloat(dst []byte, f float64, bits int) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("encoding number %v: JSON has no such number", f)
	}
	if f == 0 {
		return append(dst, '0'), nil // also for -0, which no Kubernetes field knows
	}
	format := byte('f')
	if abs := math.Abs(f); abs < 1e-6 || abs >= 1e21 {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, bits), nil
}

const hexDigits = "0123456789abcdef"

// appendString escapes what JSON demands, and the two line separators that break JavaScript; not <, > and &, which
// commands are full of.
func appendString(dst []byte, s string) []byte { //nolint:gocyclo // one case per kind of character
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		size := 1
		var escape []byte
		switch {
		case c == '"' || c == '\\':
			escape = []byte{'\\', c}
		case c == '\n':
			escape = []byte(`\n`)
		case c == '\r':
			escape = []byte(`\r`)
		case c == '\t':
			escape = []byte(`\t`)
		case c < 0x20:
			escape = []byte{'\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf]}
		default:
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				escape = []byte(`\ufffd`)
			case r == '\u2028' || r == '\u2029':
				escape = []byte{'\\', 'u', '2', '0', '2', hexDigits[r&0xf]}
			default:
				i += size
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		dst = append(dst, escape...)
		i += size
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
