package service_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/raygate/raygate/apiserver/internal/reverseproxy"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// upload sends a package in parts of a few bytes. Its size is announced as that of the content and more.
func (w *world) upload(t *testing.T, name string, content []byte, more int64) (string, error) {
	t.Helper()
	stream, err := w.submissions.UploadPackage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	message := &raygatev2.UploadPackageRequest{Namespace: "default", Cluster: "demo", PackageName: name, Size: int64(len(content)) + more}
	for {
		n := min(len(content), 100)
		message.Data, content = content[:n], content[n:]
		if stream.Send(message) != nil || len(content) == 0 {
			break
		}
		message = &raygatev2.UploadPackageRequest{}
	}
	resp, err := stream.CloseAndRecv()
	return resp.GetUri(), err
}

// TestPackages: a job finds the files of a package that was uploaded.
func TestPackages(t *testing.T) {
	w := newWorld(t)
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	if f, err := z.Create("sub/main.sh"); err != nil {
		t.Fatal(err)
	} else if _, err := f.Write([]byte("echo from the package\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	const name = "_ray_pkg_0123.zip"
	find := func(name string) (string, error) {
		resp, err := w.submissions.GetPackage(t.Context(), &raygatev2.GetPackageRequest{Namespace: "default", Cluster: "demo", PackageName: name})
		return resp.GetUri(), err
	}
	_, err := find(name)
	wantCode(t, "find before the upload", err, codes.NotFound, "no package "+name)
	for what, more := range map[string]int64{"fewer bytes than announced": 1, "more bytes than announced": -1} {
		_, err := w.upload(t, name, archive.Bytes(), more)
		wantCode(t, what, err, codes.InvalidArgument, "bytes")
	}
	for _, bad := range []string{"", "x.zip", "_ray_pkg_../x.zip", "_ray_pkg_a%2fb.zip"} {
		_, err := w.upload(t, bad, archive.Bytes(), 0)
		wantCode(t, "upload as "+bad, err, codes.InvalidArgument, "_ray_pkg_HASH.zip")
		_, err = find(bad)
		wantCode(t, "find "+bad, err, codes.InvalidArgument, "_ray_pkg_HASH.zip")
	}
	_, err = w.upload(t, name, nil, reverseproxy.MaxBody+1)
	wantCode(t, "too large", err, codes.InvalidArgument, "size")
	w.change(func() { w.denied["update services/proxy"] = true })
	_, err = w.upload(t, name, archive.Bytes(), 0)
	wantCode(t, "without the right", err, codes.PermissionDenied, "update services/proxy")
	w.change(func() { w.denied = nil })

	uri, err := w.upload(t, name, archive.Bytes(), 0)
	if err != nil || uri != "gcs://"+name {
		t.Fatalf("%s, %v", uri, err)
	}
	if found, err := find(name); found != uri || err != nil {
		t.Errorf("find after the upload: %s, %v", found, err)
	}
	env, err := structpb.NewStruct(map[string]any{"working_dir": uri})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.submit(t, &raygatev2.Submission{Entrypoint: "sh sub/main.sh", SubmissionId: "mine", RuntimeEnv: env}); err != nil {
		t.Fatal(err)
	}
	w.await(t, "mine", "SUCCEEDED")
	w.awaitLog(t, "mine", "from the package\n")
}

// TestPutPackage: a browser stores packages by REST.
func TestPutPackage(t *testing.T) {
	w := newWorld(t)
	content := "PK files"
	name := fmt.Sprintf("_ray_pkg_%x.zip", sha256.Sum256([]byte(content)))
	for what, tc := range map[string]struct {
		path, content string
		code          int
		want          string
	}{
		"another content": {"packages/" + name + "?jobName=train", "PK other", 400, "WRONG_SUM"},
		"no content":      {"packages/" + name + "?jobName=train", "", 400, `"size"`},
		"no job":          {"packages/" + name, content, 400, `"job_name"`},
		"another name":    {"packages/x.zip?jobName=train", content, 400, "_ray_pkg_HASH.zip"},
		"in a cluster":    {"clusters/demo/packages/" + name, content, 200, `{"uri":"gcs://` + name},
		"no such cluster": {"clusters/nope/packages/" + name, content, 404, "nope"},
		"stored":          {"packages/" + name + "?jobName=train", content, 200, `{"uri":"https://gateway.example:8888/packages/`},
	} {
		code, _, body, err := w.send(t, "PUT", tc.path, tc.content)
		if err != nil || code != tc.code || !strings.Contains(body, tc.want) {
			t.Errorf("%s: %d %v %s", what, code, err, body)
		}
	}
	if code, _, body, err := w.send(t, "GET", "packages/"+name+"?jobName=train", ""); err != nil || code != 200 {
		t.Errorf("find: %d %v %s", code, err, body)
	}
	w.change(func() { w.denied["create rayjobs"] = true })
	if code, _, body, err := w.send(t, "PUT", "packages/"+name+"?jobName=train", content); err != nil || code != 403 {
		t.Errorf("without the right: %d %v %s", code, err, body)
	}
}
