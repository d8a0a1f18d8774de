package manifest

import (
	"strconv"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/raygate/raygate/pkg/manifest/problem"
)

// FromJSON makes a Struct of an object as a JSON decoder leaves it: maps, lists, strings, booleans, int64 and float64. A
// member that is null is left out, as the API server leaves it out of a custom resource; a null in a list stays.
func FromJSON(object map[string]any) *structpb.Struct {
	fields := make(map[string]*structpb.Value, len(object))
	for key, value := range object {
		if value != nil {
			fields[key] = fromJSON(value)
		}
	}
	return &structpb.Struct{Fields: fields}
}

func fromJSON(value any) *structpb.Value {
	switch v := value.(type) {
	case map[string]any:
		return structpb.NewStructValue(FromJSON(v))
	case []any:
		list := &structpb.ListValue{Values: make([]*structpb.Value, len(v))}
		for i, item := range v {
			list.Values[i] = fromJSON(item)
		}
		return structpb.NewListValue(list)
	case string:
		return structpb.NewStringValue(v)
	case bool:
		return structpb.NewBoolValue(v)
	case int64:
		if v > problem.MaxExact || v < -problem.MaxExact {
			return structpb.NewStringValue(strconv.FormatInt(v, 10))
		}
		return structpb.NewNumberValue(float64(v))
	case float64:
		return structpb.NewNumberValue(v)
	}
	return structpb.NewNullValue()
}
