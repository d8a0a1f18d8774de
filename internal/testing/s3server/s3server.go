// Package s3server runs the S3 server of test/s3 for the tests of a package.
package s3server

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/raygate/raygate/internal/testing/programs"
)

// Server is a server as a process.
type Server struct {
	programs.Program
	// Dir has the data.
	Dir string
	// Endpoint is its base URL.
	Endpoint string
}

// New builds a server, which has its data in a folder. It sets the environment of this process to the credentials, and unsets all else
// that clients of S3 look for.
func New(dir string) (*Server, error) {
	ports, err := programs.FreePorts(1)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": rand.Text(), "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	s := &Server{Dir: dir, Endpoint: "http://" + address}
	s.Path, s.Ready, s.Log = filepath.Join(dir, "s3"), s.Endpoint+"/healthz", filepath.Join(dir, "s3.log")
	s.Args = []string{"-dir", dir, "-address", address}
	return s, programs.Build("test/s3", s.Path)
}

// Bucket creates a bucket, and returns its URL for gocloud.dev/blob.
func (s *Server) Bucket(t testing.TB) string {
	t.Helper()
	name := strings.ToLower(rand.Text())
	if err := os.Mkdir(filepath.Join(s.Dir, "buckets", name), 0o700); err != nil {
		t.Fatal(err)
	}
	return At(s.Endpoint, name)
}

// At is the URL of a bucket of a server at an endpoint.
func At(endpoint, bucket string) string {
	q := url.Values{"region": {"us-east-1"}, "endpoint": {endpoint}, "use_path_style": {"true"}}
	return (&url.URL{Scheme: "s3", Host: bucket, RawQuery: q.Encode()}).String()
}
