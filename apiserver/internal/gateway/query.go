package gateway

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/protobuf/proto"
)

// strictQuery refuses query parameters that are no field of the request. The default parser ignores them, and a misspelt validateOnly
// that is ignored creates an object.
type strictQuery struct{ runtime.DefaultQueryParser }

// Parse implements runtime.QueryParameterParser.
func (q *strictQuery) Parse(msg proto.Message, values url.Values, filter *utilities.DoubleArray) error {
	fields := msg.ProtoReflect().Descriptor().Fields()
	known := map[string]bool{}
	var names []string
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Message() != nil || filter.HasCommonPrefix([]string{string(f.Name())}) {
			continue // the body, or part of the path
		}
		known[string(f.Name())], known[f.JSONName()] = true, true
		names = append(names, f.JSONName())
	}
	slices.Sort(names)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !known[key] {
			if len(names) == 0 {
				return fmt.Errorf("unknown query parameter %q: this method takes none", key)
			}
			return fmt.Errorf("unknown query parameter %q: use %s", key, strings.Join(names, ", "))
		}
		if len(values[key]) > 1 {
			return fmt.Errorf("query parameter %q is given more than once", key)
		}
	}
	return q.DefaultQueryParser.Parse(msg, values, filter)
}
