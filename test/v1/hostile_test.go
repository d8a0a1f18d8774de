package v1

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// maxHostile is how deep a message is filled in.
const maxHostile = 6

// hostile are values of each kind that no client should send.
func hostile(f protoreflect.FieldDescriptor, n int) protoreflect.Value {
	texts := []string{"", "..", "a/b", "\x00", "ü\u202e", strings.Repeat("x", 5000), "-1", "${jndi}", "*", "a b"}
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n%2 == 0)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum([]protoreflect.EnumNumber{-1, 99, math.MaxInt32, math.MinInt32}[n%4])
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32([]int32{-1, math.MaxInt32, math.MinInt32}[n%3])
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32([]uint32{0, math.MaxUint32}[n%2])
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64([]int64{-1, math.MaxInt64, math.MinInt64}[n%3])
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(math.MaxUint64)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32([]float32{float32(math.NaN()), float32(math.Inf(1)), -1, math.MaxFloat32}[n%4])
	}
	return protoreflect.ValueOfString(texts[n%len(texts)])
}

// fill sets the fields of a message to hostile values; n chooses which. Messages of Google, which are times, stay empty.
func fill(m protoreflect.Message, n, depth int) {
	if depth > maxHostile || strings.HasPrefix(string(m.Descriptor().FullName()), "google.") {
		return
	}
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		switch at := n + i; {
		case at%5 == 4: // and some are absent
		case f.IsMap():
			key := protoreflect.ValueOfString(hostile(f.MapKey(), at).String()).MapKey()
			value := m.Mutable(f).Map().NewValue()
			if f.MapValue().Message() != nil {
				fill(value.Message(), at, depth+1)
			} else {
				value = hostile(f.MapValue(), at)
			}
			m.Mutable(f).Map().Set(key, value)
		case f.IsList() && f.Message() != nil:
			for range 2 {
				fill(m.Mutable(f).List().AppendMutable().Message(), at, depth+1)
			}
		case f.IsList():
			m.Mutable(f).List().Append(hostile(f, at))
		case f.Message() != nil:
			fill(m.Mutable(f).Message(), at, depth+1)
		default:
			m.Set(f, hostile(f, at))
		}
	}
}

// TestHostile calls every method, found by the descriptors, with what no client should send. Nothing of it is a failure of the server: no panic, no 5xx.
func TestHostile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, s := range services() {
		if s.Name() == "ImageTemplateService" {
			continue
		}
		t.Run(string(s.Name()), func(t *testing.T) {
			for i := range s.Methods().Len() {
				m := s.Methods().Get(i)
				for n := range 10 {
					in := dynamicpb.NewMessage(m.Input())
					fill(in, n, 0)
					if f := m.Input().Fields().ByName("namespace"); f != nil && n%2 == 0 { // far enough to be looked at
						in.Set(f, protoreflect.ValueOfString(w.namespace))
					}
					hostileByGRPC(t, m, in, n)
					hostileByREST(t, w, m, in)
				}
			}
		})
	}
	t.Run("bodies", func(t *testing.T) {
		deep := strings.Repeat(`{"clusterSpec":`, 20000) + "1" + strings.Repeat("}", 20000)
		for name, body := range map[string]string{
			"deep": deep, "a list": "[" + strings.Repeat("[", 100000), "text": `"x"`, "number": "7", "a key twice": `{"name":"a","name":"b"}`, "bytes": "\xff\xfe", "too long": `{"name":"` + strings.Repeat("x", 4<<20) + `"}`,
		} {
			for _, collection := range []string{"clusters", "jobs", "services", "compute_templates", "jobsubmissions/none"} {
				code, answer, err := w.send(t.Context(), "POST", w.path(collection), []byte(body))
				if err == nil && (code < 400 || code >= 500) {
					t.Errorf("%s to %s: %d %.200s", name, collection, code, answer)
				}
			}
		}
	})
	if code, _, err := w.send(t.Context(), "GET", w.path("clusters"), nil); err != nil || code != 200 {
		t.Errorf("afterwards: %d %v", code, err)
	}
}

func hostileByGRPC(t *testing.T, m protoreflect.MethodDescriptor, in proto.Message, n int) {
	t.Helper()
	out := dynamicpb.NewMessage(m.Output())
	err := product.conn.Invoke(t.Context(), fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name()), in, out)
	switch code := status.Code(err); code {
	case codes.Internal, codes.Unknown, codes.DataLoss, codes.Unavailable, codes.DeadlineExceeded, codes.Unimplemented:
		if strings.Contains(err.Error(), "invalid UTF-8") { // gRPC itself refuses it
			return
		}
		t.Errorf("%s with %d: %v", m.FullName(), n, err)
	}
}

func hostileByREST(t *testing.T, w *world, m protoreflect.MethodDescriptor, in *dynamicpb.Message) {
	t.Helper()
	verb, path, bodyField := rule(m)
	query := url.Values{}
	for i := range m.Input().Fields().Len() {
		f := m.Input().Fields().Get(i)
		if f.Message() != nil || f.IsMap() {
			continue
		}
		text := fmt.Sprint(in.Get(f).Interface())
		if variable := "{" + string(f.Name()) + "}"; strings.Contains(path, variable) {
			path = strings.ReplaceAll(path, variable, url.PathEscape(text))
			continue
		}
		query.Set(f.JSONName(), text)
	}
	var body []byte
	if bodyField != "" {
		data, err := protojson.Marshal(in.Get(m.Input().Fields().ByName(protoreflect.Name(bodyField))).Message().Interface())
		if err != nil {
			t.Fatal(err)
		}
		body = data
	}
	if verb == http.MethodGet && len(query) > 0 {
		path += "?" + query.Encode()
	}
	code, answer, err := w.send(t.Context(), verb, path, body)
	if err == nil && code >= 500 {
		t.Errorf("%s %.300s: %d %s", verb, path, code, answer)
	}
}

// TestNobody calls every method without credentials, of a gateway that asks for them: nobody gets further than that.
func TestNobody(t *testing.T) {
	t.Parallel()
	c := startGateway(t, "127.0.0.1") // passthrough
	for _, s := range services() {
		for i := range s.Methods().Len() {
			verb, path, _ := rule(s.Methods().Get(i))
			if s.Name() == "ImageTemplateService" {
				continue
			}
			for _, header := range []string{"", "12345", "Basic YTpi", "Bearer nonsense", "Bearer"} {
				c.authorization = header
				path := strings.NewReplacer("{namespace}", "default", "{name}", "none", "{clustername}", "none", "{submissionid}", "none").Replace(path)
				if code, answer, err := c.send(t.Context(), verb, path, nil); err != nil || code != 401 {
					t.Errorf("%s %s with %q: %d %s %v", verb, path, header, code, answer, err)
				}
			}
		}
	}
	for _, path := range []string{"/apis/ray.io/v1/rayclusters", "/apis/events.k8s.io/v1/namespaces/default/events", "/api/v1/namespaces/default/services/demo-head-svc:8265/proxy/"} {
		c.authorization = ""
		if code, _, err := c.send(t.Context(), "GET", path, nil); err != nil || code != 401 {
			t.Errorf("%s: %d %v", path, code, err)
		}
	}
}
