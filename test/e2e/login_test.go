package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clientauthv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/raygate/raygate/internal/testing/oidcprovider"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/test/raycli"
)

// noIssuers is the AuthenticationConfiguration of an API server that trusts no identity provider yet.
const noIssuers = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt: []\n"

// person has an account at an identity provider, a home with no kubeconfig, and programs.
type person struct {
	home     string
	env      []string
	provider *oidcprovider.Provider
	// said is all output of their programs.
	said bytes.Buffer
}

// store is the folder with the login of the person, the only place for tokens.
func (p *person) store() string { return filepath.Join(p.home, "store") }

// runs runs a program and returns its standard output. secret output is not kept.
func (p *person) runs(t *testing.T, code int, secret bool, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settle)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, &out, &errs
	if slices.Contains(args, "--device") {
		cmd.Stderr = &codeReader{&errs, p.provider.Approve}
	}
	err := cmd.Run()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("%s %v: %v, want exit code %d:\n%s%s", program, args, err, code, out.Bytes(), errs.Bytes())
	}
	p.said.Write(errs.Bytes())
	if !secret {
		p.said.Write(out.Bytes())
	}
	return out.String() + errs.String()
}

func (p *person) raygate(t *testing.T, code int, args ...string) string {
	t.Helper()
	return p.runs(t, code, false, programs.Binary("raygate"), args...)
}

// codeReader reads the code that a device shows, and enters it at the provider.
type codeReader struct {
	out   *bytes.Buffer
	enter func()
}

// Write implements io.Writer.
func (c *codeReader) Write(text []byte) (int, error) {
	n, err := c.out.Write(text)
	if shown := c.out.String(); strings.Contains(shown, "code ABCD") && strings.Contains(shown, "/enter") {
		c.enter()
	}
	return n, err
}

// loginGateway starts a gateway that trusts the provider and has the rights of the manifests. The API server trusts the provider, too.
func loginGateway(t *testing.T, provider *oidcprovider.Provider) (url, grpc, authority string) {
	t.Helper()
	dir := t.TempDir()
	// The gateway has no rights to impersonate extra values.
	lines := slices.DeleteFunc(strings.Split(provider.Config(), "\n"), func(line string) bool { return strings.Contains(line, "extra:") })
	config := []byte(strings.Join(lines, "\n"))
	file := filepath.Join(dir, "authentication.yaml")
	if err := errors.Join(os.WriteFile(file, config, 0o600), os.WriteFile(product.authentication, config, 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.WriteFile(product.authentication, []byte(noIssuers), 0o600) })

	const account = "raygate-login"
	kubectl(t, nil, "create", "serviceaccount", account, "--namespace=raygate-system")
	role, err := os.ReadFile("../../apiserver/config/components/impersonate/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kubectl(t, bytes.Replace(role, []byte("  name: raygate-apiserver\n"), []byte("  name: "+account+"\n"), 1), "apply", "-f", "-")
	kubectl(t, nil, "create", "clusterrolebinding", account, "--clusterrole=raygate-apiserver", "--serviceaccount=raygate-system:"+account)
	kubeconfig, err := product.env.KubeconfigOf(t.Context(), dir, "raygate-system", account)
	if err != nil {
		t.Fatal(err)
	}
	flags, authority := raycli.Certificate(t)
	url, grpc = raycli.StartGatewayWith(t, kubeconfig, append(flags, "--authentication=impersonate", "--authentication-config="+file, "--token-audiences=raygate", "--v=6")...)
	return url, grpc, authority
}

func newPerson(t *testing.T, provider *oidcprovider.Provider, url, grpc, authority string) *person {
	t.Helper()
	p := &person{home: t.TempDir(), provider: provider}
	roots := filepath.Join(p.home, "provider.crt")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: provider.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := filepath.Abs("../../clients/python/src")
	if err != nil {
		t.Fatal(err)
	}
	p.env = []string{
		"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "SSL_CERT_FILE=" + roots, "RAYGATE_LOGIN_FILE=" + filepath.Join(p.store(), "login.json"),
		"RAYGATE_SERVER=https://" + grpc, "RAYGATE_URL=" + url, "RAYGATE_CERTIFICATE_AUTHORITY=" + authority, "PYTHONPATH=" + source, "PYTHONDONTWRITEBYTECODE=1",
	}
	return p
}

// kubeconfig writes one whose user is the login of the person.
func (p *person) kubeconfig(t *testing.T) string {
	t.Helper()
	program, err := filepath.Abs(programs.Binary("raygate"))
	if err != nil {
		t.Fatal(err)
	}
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{Server: product.env.Server, CertificateAuthorityData: product.env.Config.CAData, CertificateAuthority: product.env.Config.CAFile}
	c.AuthInfos["u"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		APIVersion: clientauthv1.SchemeGroupVersion.String(), InteractiveMode: clientcmdapi.NeverExecInteractiveMode, Command: program, Args: []string{"credential"},
	}}
	c.Contexts["x"], c.CurrentContext = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}, "x"
	file := filepath.Join(p.home, "kubeconfig")
	if err := clientcmd.WriteToFile(*c, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// token is what programs that cannot log in get.
func (p *person) token(t *testing.T) string {
	t.Helper()
	var credential clientauthv1.ExecCredential
	text := p.runs(t, 0, true, programs.Binary("raygate"), "credential")
	if err := json.Unmarshal([]byte(text), &credential); err != nil || credential.Status == nil {
		t.Fatalf("no credential: %v", err)
	}
	return credential.Status.Token
}

// endToken makes the token of the login end, so that the next program renews it.
func (p *person) endToken(t *testing.T) {
	t.Helper()
	file := filepath.Join(p.store(), "login.json")
	text, err := os.ReadFile(file)
	logins := map[string]map[string]any{}
	if err = errors.Join(err, json.Unmarshal(text, &logins)); err != nil {
		t.Fatal(err)
	}
	for _, l := range logins {
		l["expiry"] = time.Now().UTC().Format(time.RFC3339)
	}
	if text, err = json.Marshal(logins); err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

const pythonOfPerson = `
import sys, raygate
with raygate.Client(namespace=sys.argv[1]) as client:
    print("clusters:", sorted(each.name for each in client.clusters.list()))
    try:
        client.clusters.list(namespace="default")
    except raygate.ForbiddenError:
        print("refused elsewhere")
`

// Somebody without a kubeconfig logs in once, and then every program has the rights of their group. A program in a Pod has the rights of its
// ServiceAccount. No token is anywhere but where it is kept.
func TestLogin(t *testing.T) {
	ns, provider := namespace(t), oidcprovider.New(t)
	rest(t, "POST", clustersOf(ns), "application/yaml", manifest("demo", ns, 0)).want(t, 201)
	kubectl(t, nil, "create", "role", "ml", "--namespace="+ns, "--verb=get,list,watch,create,update,patch,delete",
		"--resource=rayclusters.ray.io,rayjobs.ray.io,services/proxy,pods,events")
	kubectl(t, nil, "create", "rolebinding", "ml", "--namespace="+ns, "--role=ml", "--group=ml")
	url, grpc, authority := loginGateway(t, provider)

	ada := newPerson(t, provider, url, grpc, authority)
	ada.raygate(t, 1, "get", "clusters", "-n", ns) // nobody is logged in
	if out := ada.raygate(t, 0, "login", "--device", "--issuer-url", provider.URL, "--client-id", "raygate"); !strings.Contains(out, "as ada@example.com") {
		t.Errorf("logged in: %s", out)
	}
	ada.sees(t, "demo", programs.Binary("raygate"), "get", "clusters", "-n", ns)
	ada.raygate(t, 1, "get", "clusters", "-n", "default")
	ada.endToken(t)
	if out := ada.raygate(t, 0, "submit", "-n", ns, "--name", "good", "--", "echo", "hello ada"); !strings.Contains(out, "hello ada") {
		t.Errorf("submitted: %s", out)
	}

	t.Run("python", func(t *testing.T) {
		interpreter := python(t)
		ada.endToken(t)
		if out := ada.runs(t, 0, false, interpreter, "-c", pythonOfPerson, ns); !strings.Contains(out, "'demo'") || !strings.Contains(out, "refused elsewhere") {
			t.Errorf("Python: %s", out)
		}
	})
	t.Run("job SDK of Ray", func(t *testing.T) {
		waitReady(t, ns, "demo", 0)
		raycli.Replay(t, raycli.Address(url, ns, "demo"), ada.token(t), authority)
		raycli.NewSDK(t, raycli.Address(url, "default", "demo"), ada.token(t), authority).Refused(403, "GET", "/api/jobs/")
	})
	t.Run("kubectl", func(t *testing.T) {
		tool, kubeconfig := programs.Binary("k8s/kubectl"), ada.kubeconfig(t)
		ada.sees(t, "demo", tool, "--kubeconfig", kubeconfig, "get", "rayclusters", "-n", ns) // once the API server has read its configuration again
		if out := ada.runs(t, 1, false, tool, "--kubeconfig", kubeconfig, "get", "rayclusters", "-n", "default"); !strings.Contains(out, "ada@example.com") {
			t.Errorf("refused with: %s", out)
		}
	})

	provider.Override(map[string]any{"email": "ben@example.com", "groups": []string{"sales"}})
	ben := newPerson(t, provider, url, grpc, authority)
	ben.raygate(t, 0, "login", "--device", "--issuer-url", provider.URL, "--client-id", "raygate")
	if out := ben.raygate(t, 1, "get", "clusters", "-n", ns); !strings.Contains(out, "you may not list") {
		t.Errorf("refused with: %s", out)
	}
	ben.raygate(t, 0, "logout")
	ben.raygate(t, 1, "get", "clusters", "-n", ns)
	robot, token := newRobot(t, ns, url, grpc, authority)
	robot.sees(t, "demo", programs.Binary("raygate"), "get", "clusters", "-n", ns)
	robot.raygate(t, 1, "get", "clusters", "-n", "default")
	noTokens(t, append(provider.Issued(), token), ada, ben, robot)
}

// newRobot returns a program that has the rights of the group ml, with the token that its Pod would mount.
func newRobot(t *testing.T, ns, url, grpc, authority string) (robot *person, token string) {
	t.Helper()
	kubectl(t, nil, "create", "serviceaccount", "robot", "--namespace="+ns)
	kubectl(t, nil, "create", "rolebinding", "robot", "--namespace="+ns, "--role=ml", "--serviceaccount="+ns+":robot")
	token = strings.TrimSpace(kubectl(t, nil, "create", "token", "robot", "--namespace="+ns, "--audience=raygate"))
	robot = newPerson(t, oidcprovider.New(t), url, grpc, authority)
	file := filepath.Join(robot.store(), "token")
	if err := errors.Join(os.MkdirAll(robot.store(), 0o700), os.WriteFile(file, []byte(token), 0o600)); err != nil {
		t.Fatal(err)
	}
	robot.env = append(robot.env, "RAYGATE_TOKEN_FILE="+file)
	return robot, token
}

// sees runs a program until it shows a text: rights and configurations take effect after a while.
func (p *person) sees(t *testing.T, text, program string, args ...string) {
	t.Helper()
	eventually(t, "the output has "+text, func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = p.env
		out, err := cmd.CombinedOutput()
		p.said.Write(out)
		if err != nil || !strings.Contains(string(out), text) {
			return fmt.Errorf("%s %v: %v: %s", program, args, err, out) //nolint:errorlint // for people
		}
		return nil
	})
}

// noTokens looks for tokens in all that people read, and in all files of the test, the product and the control plane but their logins.
func noTokens(t *testing.T, tokens []string, people ...*person) {
	t.Helper()
	if len(tokens) < 9 { // two logins and two renewals, two tokens each, and the robot's
		t.Errorf("only %d tokens were given", len(tokens))
	}
	has := func(text []byte) bool {
		return slices.ContainsFunc(tokens, func(token string) bool { return bytes.Contains(text, []byte(token)) })
	}
	var stores []string
	for _, p := range people {
		if has(p.said.Bytes()) {
			t.Error("a token is in the output of a program")
		}
		stores = append(stores, p.store())
	}
	files, kept := 0, 0
	for _, root := range []string{filepath.Dir(t.TempDir()), filepath.Dir(product.gateway.Log), product.env.Dir} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil //nolint:nilerr // a program that ends removes its files
			}
			files++
			text, err := os.ReadFile(path)
			switch {
			case err != nil || !has(text):
			case slices.Contains(stores, filepath.Dir(path)):
				kept++
			default:
				t.Errorf("a token is in %s", path)
			}
			return nil //nolint:nilerr // as above
		})
		if err != nil {
			t.Error(err)
		}
	}
	if kept != 2 {
		t.Errorf("tokens are in %d stores, want 2: one of the three has logged out", kept)
	}
	t.Logf("looked for %d tokens in %d files", len(tokens), files)
}
