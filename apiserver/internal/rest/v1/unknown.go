package v1

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxUnknown is the maximum number of unknown members that an error names.
const maxUnknown = 10

// warnOfUnknown names unknown members of a body in Warning headers, as Kubernetes does. They are ignored, and may be misspelt.
func warnOfUnknown(h http.Header, data []byte, md protoreflect.MessageDescriptor) {
	if !json.Valid(data) { // gjson.ValidBytes recurses: a body of brackets would take a stack of hundreds of MiB
		return
	}
	for _, path := range unknownMembers(gjson.ParseBytes(data), md, "", nil) {
		clean := strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' || r == '"' || r == '\\' {
				return '?'
			}
			return r
		}, path)
		h.Add("Warning", fmt.Sprintf(`299 - "unknown field %s is ignored"`, clean[:min(len(clean), 200)]))
	}
}

func unknownMembers(object gjson.Result, md protoreflect.MessageDescriptor, path string, found []string) []string {
	if !object.IsObject() || strings.HasPrefix(string(md.FullName()), "google.") {
		return found
	}
	object.ForEach(func(key, value gjson.Result) bool {
		at := strings.TrimPrefix(path+"."+key.Str, ".")
		f := cmp.Or(md.Fields().ByJSONName(key.Str), md.Fields().ByName(protoreflect.Name(key.Str)))
		switch {
		case f == nil:
			found = append(found, at)
		case f.IsMap() && f.MapValue().Message() != nil:
			value.ForEach(func(key, item gjson.Result) bool {
				found = unknownMembers(item, f.MapValue().Message(), at+"."+key.Str, found)
				return len(found) < maxUnknown
			})
		case f.IsList() && f.Message() != nil:
			for i, item := range value.Array() {
				found = unknownMembers(item, f.Message(), at+"["+strconv.Itoa(i)+"]", found)
			}
		case !f.IsMap() && f.Message() != nil:
			found = unknownMembers(value, f.Message(), at, found)
		}
		return len(found) < maxUnknown
	})
	return found[:min(len(found), maxUnknown)]
}
