package v1

import (
	"encoding/json"
	"io"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	modelv1 "github.com/raygate/raygate/apiserver/internal/model/v1"
)

const typeJSON = "application/json"

// marshaler reads JSON as protojson does, without a word about members that no message has, and writes it as model/v1 does.
type marshaler struct{ *runtime.JSONPb }

func newMarshaler() marshaler {
	return marshaler{&runtime.JSONPb{UnmarshalOptions: protojson.UnmarshalOptions{DiscardUnknown: true}}}
}

// ContentType implements runtime.Marshaler.
func (marshaler) ContentType(any) string { return typeJSON }

// Marshal implements runtime.Marshaler.
func (marshaler) Marshal(v any) ([]byte, error) {
	if m, ok := v.(proto.Message); ok {
		return modelv1.AppendJSON(nil, m)
	}
	return json.Marshal(v)
}

// NewEncoder implements runtime.Marshaler.
func (m marshaler) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		data, err := m.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
}
