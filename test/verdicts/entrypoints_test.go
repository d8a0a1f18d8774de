package verdicts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/hack/celrules"
	"github.com/raygate/raygate/internal/testing/programs"
)

var dryRun = []string{metav1.DryRunAll}

// problem is one line of a verdict.
type problem struct{ Rule, Field, Text string }

// answer is what an entry point answers of an object.
type answer struct {
	// by is who refused; empty when nobody did.
	by       string
	errors   []problem
	warnings []problem
	// failure is an answer that is no verdict.
	failure string
}

// Those who refuse.
const (
	byCRD     = "CRD"
	byWebhook = "webhook"
	byPolicy  = "policy"
	byGateway = "gateway"
	byTool    = "raygate validate"
)

// create sends the object to the API server, as kubectl would, for everything but the write.
func create(ctx context.Context, c *testCase, namespace string) answer {
	var warnings []string
	ctx = context.WithValue(ctx, warningsKey{}, &warnings)
	u := c.sent()
	u.SetNamespace(namespace)
	client := kindOf(c.Kind).Namespace(namespace)
	var err error
	if c.Update {
		u.SetResourceVersion(c.versions[namespace])
		_, err = client.Update(ctx, u, metav1.UpdateOptions{DryRun: dryRun})
	} else {
		delete(u.Object, "status")
		_, err = client.Create(ctx, u, metav1.CreateOptions{DryRun: dryRun})
	}
	a := answerOf(err)
	for _, text := range warnings {
		a.warnings = append(a.warnings, problemIn(text))
	}
	return a
}

var (
	ruleSuffix   = regexp.MustCompile(` \(([A-Z]+-[0-9]{3})\)$`)
	policyPrefix = regexp.MustCompile(`(?s)^.*ValidatingAdmissionPolicy '([^']+)' with binding '[^']+'( denied request)?: `)
)

// answerOf takes a refusal by the API server apart.
func answerOf(err error) answer {
	if err == nil {
		return answer{}
	}
	var refused *apierrors.StatusError
	if !errors.As(err, &refused) || refused.ErrStatus.Details == nil || refused.ErrStatus.Reason != metav1.StatusReasonInvalid {
		return answer{failure: err.Error()}
	}
	a, causes := answer{by: byCRD}, refused.ErrStatus.Details.Causes
	switch m := policyPrefix.FindStringSubmatch(refused.ErrStatus.Message); {
	case m != nil && strings.HasSuffix(m[1], updatesSuffix):
		causes = []metav1.StatusCause{{Message: "Invalid value: " + strings.TrimPrefix(refused.ErrStatus.Message, m[0])}}
	case m != nil:
		return answer{by: byPolicy, errors: []problem{problemIn(refused.ErrStatus.Message)}}
	case strings.HasPrefix(refused.ErrStatus.Message, "admission webhook"):
		a.by = byWebhook
	}
	for _, cause := range celrules.Causes(causes) {
		p := problem{Field: cause.Field, Text: cause.Message}
		if m := ruleSuffix.FindStringSubmatch(p.Text); m != nil {
			p.Rule, p.Text = m[1], strings.TrimSuffix(p.Text, m[0])
		}
		a.errors = append(a.errors, p)
	}
	return a
}

// problemIn reads "field: text (rule)", with or without the words of a policy before it.
func problemIn(text string) problem {
	if m := policyPrefix.FindString(text); m != "" {
		text = text[len(m):]
	}
	var p problem
	if m := ruleSuffix.FindStringSubmatch(text); m != nil {
		p.Rule, text = m[1], strings.TrimSuffix(text, m[0])
	}
	p.Field, p.Text, _ = strings.Cut(text, ": ")
	return p
}

// finding is a line of the report of `raygate validate`.
type finding struct {
	Document                       int
	Severity, Field, Message, Rule string
}

// runTool shows a file of objects to `raygate validate` with the gates of a setting.
func runTool(ctx context.Context, s *setting, file []byte, objects int) ([]finding, error) {
	args := []string{"validate", "-o", "json", "-f", "-"}
	for gate, on := range s.gates {
		args = append(args, fmt.Sprintf("--feature-gates=%s=%v", gate, on))
	}
	cmd := exec.CommandContext(ctx, programs.Binary("raygate"), args...)
	cmd.Stdin = bytes.NewReader(file)
	out, err := cmd.Output()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() > 1 {
		return nil, fmt.Errorf("raygate validate: %w: %s", err, out)
	}
	var report struct {
		Objects  int
		Findings []finding
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, fmt.Errorf("decoding report: %w", err)
	}
	if report.Objects != objects {
		return nil, fmt.Errorf("raygate validate checked %d objects of %d", report.Objects, objects)
	}
	return report.Findings, nil
}

// askTool shows all objects of a setting to `raygate validate` in one file.
func askTool(ctx context.Context, s *setting, cases []*testCase) (map[*testCase]answer, error) {
	var file bytes.Buffer
	for _, c := range cases {
		u := c.sent()
		data, err := json.Marshal(u.Object)
		if err != nil {
			return nil, err
		}
		file.WriteString("---\n")
		file.Write(data)
		file.WriteByte('\n')
	}
	findings, err := runTool(ctx, s, file.Bytes(), len(cases))
	if err != nil {
		return nil, err
	}
	answers := map[*testCase]answer{}
	for _, c := range cases {
		answers[c] = answer{}
	}
	for _, f := range findings {
		c := cases[f.Document-1]
		a, p := answers[c], problem{Rule: f.Rule, Field: f.Field, Text: f.Message}
		if f.Severity == "error" {
			a.by, a.errors = byTool, append(a.errors, p)
		} else {
			a.warnings = append(a.warnings, p)
		}
		answers[c] = a
	}
	return answers, nil
}

// askWebhooksAlone asks while the CRDs have no rules, so that the webhooks see everything.
func askWebhooksAlone(ctx context.Context) error {
	return forEach(len(lab.cases), func(i int) error {
		if c := lab.cases[i]; c.setting != nil {
			c.alone = create(ctx, c, nsWebhooks(c.setting))
		}
		return nil
	})
}
