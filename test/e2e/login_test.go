package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientauthv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/oidcprovider"
	"github.com/raygate/raygate/internal/testing/otlp"
	"github.com/raygate/raygate/internal/testing/programs"
	"github.com/raygate/raygate/test/raycli"
)

// noIssuers is the AuthenticationConfiguration of an API server that trusts no identity provider yet.
const noIssuers = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt: []\n"

// person has an account at an identity provider, a home with no kubeconfig, and programs.
type person struct {
	home     string
	env      []string
	provider *oidcprovider.Process
	// issued are the tokens that the person got.
	issued []string
	// said is all output of their programs.
	said bytes.Buffer
}

// store is the folder with the login of the person, the only place for tokens.
func (p *person) store() string { return filepath.Join(p.home, "store") }

// runs runs a program and returns its standard output. secret output is not kept.
func (p *person) runs(t *testing.T, code int, secret bool, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, &out, &errs
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

// logsIn logs in as a user of the provider with a browser: of another machine, where the user enters the code of a device, or of this one, which returns to
// the program.
func (p *person) logsIn(t *testing.T, user string, device bool) {
	t.Helper()
	p.show(t, user, programs.Binary("raygate"), "login", fmt.Sprintf("--device=%t", device), "--issuer-url", p.provider.URL, "--client-id", "raygate", "--scopes", scopes)
	if !strings.Contains(p.said.String(), "as "+user+"@example.com") {
		t.Fatalf("logging in as %s: %s", user, p.said.Bytes())
	}
	p.collect(t)
}

const scopes = "openid,email,profile,offline_access,groups"

// show runs a program that logs in, and lets the user do what it shows.
func (p *person) show(t *testing.T, user, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = p.env
	reader, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = &p.said, writer
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Run()
		_ = writer.Close()
	}()
	var shown strings.Builder
	for lines := bufio.NewScanner(reader); lines.Scan(); {
		line := lines.Text()
		shown.WriteString(line + "\n")
		if _, code, ok := strings.Cut(line, "enter the code "); ok {
			p.provider.EnterCode(t, strings.TrimSuffix(code, ":"), user)
		} else if page := strings.TrimSpace(line); strings.Contains(page, "redirect_uri=") {
			browser := p.provider.Client(t)
			back, err := browser.Get(p.provider.LogIn(t, browser, page, user).String())
			if err != nil {
				t.Fatal(err)
			}
			_ = back.Body.Close()
		}
	}
	p.said.WriteString(shown.String())
	if err := <-ended; err != nil {
		t.Fatalf("%s %v: %v: %s", program, args, err, shown.String())
	}
}

// entrance is where people reach a gateway, and the certificate that they trust. The gateway sends its spans to traces.
type entrance struct {
	url, grpc, authority string
	traces               *otlp.Collector
}

// loginGateway starts a gateway that trusts the provider and has the rights of the manifests. The API server trusts the provider, too.
func loginGateway(t *testing.T, provider *oidcprovider.Process) entrance {
	t.Helper()
	config, err := os.ReadFile(provider.Config())
	if err = errors.Join(err, os.WriteFile(product.authentication, config, 0o600)); err != nil {
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
	kubeconfig, err := product.env.KubeconfigOf(t.Context(), t.TempDir(), "raygate-system", account)
	if err != nil {
		t.Fatal(err)
	}
	flags, authority := raycli.Certificate(t)
	traces := otlp.Start(t)
	flags = append(flags, "--tracing-endpoint="+traces.Endpoint, "--tracing-ca-file="+traces.CAFile, "--tracing-sampling-rate-per-million=1000000")
	url, grpc := raycli.StartGatewayWith(t, kubeconfig, append(flags, "--authentication=impersonate", "--authentication-config="+provider.Config(), "--token-audiences=raygate", "--v=6")...)
	return entrance{url, grpc, authority, traces}
}

func newPerson(t *testing.T, provider *oidcprovider.Process, at entrance) *person {
	t.Helper()
	p := &person{home: t.TempDir(), provider: provider}
	source, err := filepath.Abs("../../clients/python/src")
	if err != nil {
		t.Fatal(err)
	}
	p.env = []string{
		"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "SSL_CERT_FILE=" + filepath.Join(provider.Dir, "ca.crt"), "RAYGATE_LOGIN_FILE=" + filepath.Join(p.store(), "login.json"),
		"RAYGATE_SERVER=https://" + at.grpc, "RAYGATE_URL=" + at.url, "RAYGATE_CERTIFICATE_AUTHORITY=" + at.authority, "PYTHONPATH=" + source, "PYTHONDONTWRITEBYTECODE=1",
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
	return strings.TrimSpace(p.runs(t, 0, true, programs.Binary("raygate"), "credential", "--bare"))
}

// endToken makes the token of the login end, so that the next program renews it.
func (p *person) endToken(t *testing.T) {
	t.Helper()
	logins := p.collect(t)
	for _, l := range logins {
		l["expiry"] = time.Now().UTC().Format(time.RFC3339)
	}
	text, err := json.Marshal(logins)
	if err == nil {
		err = os.WriteFile(filepath.Join(p.store(), "login.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// collect adds the tokens of the logins to those that the person got, and returns the logins.
func (p *person) collect(t *testing.T) map[string]map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.store(), "login.json"))
	logins := map[string]map[string]any{}
	if err = errors.Join(err, json.Unmarshal(text, &logins)); err != nil {
		t.Fatal(err)
	}
	for _, l := range logins {
		p.issued = append(p.issued, l["idToken"].(string), l["refreshToken"].(string))
	}
	return logins
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
	ns, provider := namespace(t), oidcprovider.Start(t, "https://127.0.0.1:1")
	rest(t, "POST", clustersOf(ns), "application/yaml", manifest("demo", ns, 0)).want(t, 201)
	kubectl(t, nil, "create", "role", "ml", "--namespace="+ns, "--verb=get,list,watch,create,update,patch,delete",
		"--resource=rayclusters.ray.io,rayjobs.ray.io,services/proxy,pods,events")
	kubectl(t, nil, "create", "rolebinding", "ml", "--namespace="+ns, "--role=ml", "--group=sso:ml-engineers")
	at := loginGateway(t, provider)

	ada := newPerson(t, provider, at)
	ada.raygate(t, 1, "get", "clusters", "-n", ns) // nobody is logged in
	ada.logsIn(t, "ada", true)
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
		ada.collect(t)
		ada.show(t, "ada", interpreter, "-c", "import raygate; print(raygate.login(device=True))") // at the provider of the last login
	})
	t.Run("job SDK of Ray", func(t *testing.T) {
		waitReady(t, ns, "demo", 0)
		raycli.Replay(t, raycli.Address(at.url, ns, "demo"), ada.token(t), at.authority)
		raycli.NewSDK(t, raycli.Address(at.url, "default", "demo"), ada.token(t), at.authority).Refused(403, "GET", "/api/jobs/")
	})
	t.Run("command line of Ray", func(t *testing.T) {
		raycli.Use(t, raycli.Find(t, true), raycli.Address(at.url, ns, "demo"), ada.token(t), at.authority)
	})
	t.Run("kubectl", func(t *testing.T) {
		tool, kubeconfig := programs.Binary("k8s/kubectl"), ada.kubeconfig(t)
		ada.sees(t, "demo", tool, "--kubeconfig", kubeconfig, "get", "rayclusters", "-n", ns) // once the API server has read its configuration again
		if out := ada.runs(t, 1, false, tool, "--kubeconfig", kubeconfig, "get", "rayclusters", "-n", "default"); !strings.Contains(out, "ada@example.com") {
			t.Errorf("refused with: %s", out)
		}
	})
	t.Run("token passed on", func(t *testing.T) { // to the API server, which trusts the provider by now
		flags, authority := raycli.Certificate(t)
		_, grpc := raycli.StartGatewayWith(t, product.env.Kubeconfig, flags...)
		args := []string{"get", "clusters", "--server", "https://" + grpc, "--certificate-authority", authority, "--token", ada.token(t), "-n"}
		ada.sees(t, "demo", programs.Binary("raygate"), append(args, ns)...)
		ada.raygate(t, 1, append(args, "default")...)
	})

	ada.collect(t)
	ben := newPerson(t, provider, at)
	ben.logsIn(t, "ben", false)
	if out := ben.raygate(t, 1, "get", "clusters", "-n", ns); !strings.Contains(out, "you may not list") {
		t.Errorf("refused with: %s", out)
	}
	ben.raygate(t, 0, "logout")
	ben.raygate(t, 1, "get", "clusters", "-n", ns)
	robot := newRobot(t, ns, provider, at)
	robot.sees(t, "demo", programs.Binary("raygate"), "get", "clusters", "-n", ns)
	robot.raygate(t, 1, "get", "clusters", "-n", "default")
	noTokens(t, at.traces, ada, ben, robot)
}

// newRobot returns a program that has the rights of the group ml, with the token that its Pod would mount.
func newRobot(t *testing.T, ns string, provider *oidcprovider.Process, at entrance) *person {
	t.Helper()
	kubectl(t, nil, "create", "serviceaccount", "robot", "--namespace="+ns)
	kubectl(t, nil, "create", "rolebinding", "robot", "--namespace="+ns, "--role=ml", "--serviceaccount="+ns+":robot")
	token := strings.TrimSpace(kubectl(t, nil, "create", "token", "robot", "--namespace="+ns, "--audience=raygate"))
	robot := newPerson(t, provider, at)
	file := filepath.Join(robot.store(), "token")
	if err := errors.Join(os.MkdirAll(robot.store(), 0o700), os.WriteFile(file, []byte(token), 0o600)); err != nil {
		t.Fatal(err)
	}
	robot.env, robot.issued = append(robot.env, "RAYGATE_TOKEN_FILE="+file), []string{token}
	return robot
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
