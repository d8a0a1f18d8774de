package gateway

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// strictQuery refuses query parameters that are no field of the request. The default parser ignores them, and a misspelt validateOnly
// that is ignored creates an object.
type strictQuery struct{ runtime.DefaultQueryParser }

// Parse implements runtime.QueryParameterParser.
func (q *strictQuery) Parse(msg proto.Message, values url.Values, filter *utilities.DoubleArray) error {
	fields := msg.ProtoReflect().Descriptor().Fields()
	known, kinds := map[string]bool{}, map[string]protoreflect.Kind{}
	var names []string
	for i := range fields.Len() {
		f := fields.Get(i)
		if f.Message() != nil || filter.HasCommonPrefix([]string{string(f.Name())}) {
			continue // the body, or part of the path
		}
		known[string(f.Name())], known[f.JSONName()] = true, true
		kinds[string(f.Name())], kinds[f.JSONName()] = f.Kind(), f.Kind()
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
		if err := checkValue(kinds[key], key, values.Get(key)); err != nil {
			return err
		}
	}
	return q.DefaultQueryParser.Parse(msg, values, filter)
}

// checkValue says in words about the request what the default parser says about Go.
func checkValue(kind protoreflect.Kind, key, value string) error {
	switch kind { //nolint:exhaustive // text of any form is fine for the others
	case protoreflect.BoolKind:
		if _, err := strconv.ParseBool(value); err != nil {
			return fmt.Errorf("query parameter %q: %q is not true or false", key, value)
		}
	case protoreflect.Int32Kind:
		if _, err := strconv.ParseInt(value, 0, 32); err != nil {
			return fmt.Errorf("query parameter %q: %q is not a whole number of 32 bits", key, value)
		}
	}
	return nil
}
