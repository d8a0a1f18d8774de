module github.com/raygate/raygate/hack/internal/thirdparty

go 1.26.0

require (
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.31.0
	github.com/jhump/protoreflect/v2 v2.0.0-beta.2
	google.golang.org/genproto/googleapis/api v0.0.0-20260921155816-b14227669459
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260918162117-cecb64721679
	google.golang.org/protobuf v1.36.12
)
