package scripts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raygate/raygate/pkg/manifest"
	"github.com/raygate/raygate/pkg/validation"
)

func TestProblems(t *testing.T) {
	s := scriptOf(t, "problems")
	for name, tc := range map[string]struct {
		expression string
		args       map[string]any
		want       any
	}{
		"violations of an error": {
			"violationsOf(error)", object{"error": object{"message": "2 problems", "violations": []object{
				{"field": "spec.x", "description": "is wrong", "reason": "RC-1"}, {"field": "<nil>", "description": "is worse"},
			}}},
			[]any{object{"severity": "error", "field": "spec.x", "message": "is wrong", "rule": "RC-1"}, object{"severity": "error", "field": "", "message": "is worse", "rule": ""}},
		},
		"an error without violations": {
			"violationsOf(error)", object{"error": object{"message": "no"}}, []any{object{"severity": "error", "field": "", "message": "no", "rule": ""}},
		},
		"a warning of a rule": {
			"warningOf(text)", object{"text": "spec.workerGroupSpecs[0].template.metadata.labels[a/b]: is: odd (and more) (RC-042)"},
			object{"severity": "warning", "field": "spec.workerGroupSpecs[0].template.metadata.labels[a/b]", "message": "is: odd (and more)", "rule": "RC-042"},
		},
		"a warning of the API server": {
			"warningOf(text)", object{"text": "would violate PodSecurity: be careful"}, object{"severity": "warning", "field": "", "message": "would violate PodSecurity: be careful", "rule": ""},
		},
		"the line of a syntax error":    {"placeIn(text)", object{"text": "not YAML: line 5: did not find"}, object{"line": 5.0, "column": 1.0}},
		"line and column of JSON":       {"placeIn(text)", object{"text": "not JSON: line 2, column 7: invalid"}, object{"line": 2.0, "column": 7.0}},
		"a line that is only spoken of": {"placeIn(text)", object{"text": "must be in line 5 of the queue"}, nil},
		"fields to look for": {
			"fieldsOf(problems)", object{"problems": []object{{"field": "b", "message": ""}, {"field": "", "message": ""}, {"field": "a", "message": "line 3: twice"}, {"field": "b", "message": ""}}},
			[]any{"b"},
		},
		"order": {
			"located(problems, positions).map((p) => [p.field, p.line])", object{
				"problems":  []object{{"severity": "warning", "field": "w", "message": ""}, {"severity": "error", "field": "z", "message": ""}, {"severity": "error", "field": "a", "message": ""}, {"severity": "error", "field": "d", "message": "line 2: twice"}},
				"positions": object{"w": object{"line": 1, "column": 1}, "z": object{"line": 9, "column": 1}, "a": object{"line": 9, "column": 4}, "d": object{"line": 7, "column": 1}},
			}, []any{[]any{"d", 2.0}, []any{"z", 9.0}, []any{"a", 9.0}, []any{"w", 1.0}},
		},
		"offset":                   {"['ab\\ncd\\n', 'ab\\n😀x', 'a', 'a'].map((t, i) => offsetOf(t, [2, 2, 7, 1][i], [2, 2, 1, 9][i]))", nil, []any{4.0, 5.0, 1.0, 1.0}},
		"runs":                     {"runsOf('a\\nb\\nc\\nd', new Map([[2, 'error'], [9, 'error'], [0, 'error']])).map((r) => [r.first, r.count, r.text, r.severity])", nil, []any{[]any{1.0, 1.0, "a", ""}, []any{2.0, 1.0, "b", "error"}, []any{3.0, 2.0, "c\nd", ""}}},
		"runs of an empty text":    {"runsOf('', new Map([[1, 'warning']])).map((r) => [r.first, r.count, r.text])", nil, []any{[]any{1.0, 1.0, ""}}},
		"the worst mark of a line": {"[...marksOf([{line: 1, severity: 'error'}, {line: 1, severity: 'warning'}, {line: 0, severity: 'error'}])]", nil, []any{[]any{1.0, "error"}}},
		"summary":                  {"[[], ['error'], ['error', 'error', 'warning']].map((all) => summaryOf(all.map((severity) => ({severity}))))", nil, []any{"No mistakes.", "1 mistake.", "2 mistakes and 1 warning."}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, s.get(tc.expression, tc.args)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.expression, diff)
			}
		})
	}
}

// TestErrorsOfChecks separates errors about the text from temporary errors, and from all others.
func TestErrorsOfChecks(t *testing.T) {
	s := scriptOf(t, "problems")
	s.run("var code = {DEADLINE_EXCEEDED: 4, INVALID_ARGUMENT: 3, ALREADY_EXISTS: 6, PERMISSION_DENIED: 7, RESOURCE_EXHAUSTED: 8, ABORTED: 10, UNAVAILABLE: 14}")
	for name, tc := range map[string]struct {
		code           int
		reason         string
		about, mayPass bool
	}{
		"mistakes":            {3, "INVALID_SPEC", true, false},
		"the name is taken":   {6, "ALREADY_EXISTS", true, false},
		"a quota":             {8, "QUOTA_EXCEEDED", true, true},
		"too large":           {8, "TOO_LARGE", true, true},
		"too many requests":   {8, "TOO_MANY_REQUESTS", false, true},
		"the API server away": {14, "BACKEND_UNAVAILABLE", false, true},
		"too slow":            {4, "DEADLINE_EXCEEDED", false, true},
		"no right":            {7, "FORBIDDEN", false, false},
		"a conflict":          {10, "CONFLICT", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.get("{about: problemsOf(error, code) !== null, mayPass: mayPass(error, code)}", object{"error": object{"code": tc.code, "reason": tc.reason, "message": "x"}})
			if diff := cmp.Diff(any(object{"about": tc.about, "mayPass": tc.mayPass}), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWarningsAreUnderstood holds the form of warnings that the page takes apart to the one in which they are written.
func TestWarningsAreUnderstood(t *testing.T) {
	checks, _ := validation.ForKind("RayCluster")
	tree, _ := manifest.Read([]byte("apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: a, namespace: b}\nspec:\n  rayVersion: old\n  headGroupSpec:\n    rayStartParams: {no-such-parameter: x, num-cpus: x}\n    template: {spec: {containers: [{name: a, image: b}]}}\n"), true)
	cluster := checks.New()
	manifest.Decode(tree, cluster, nil)
	warnings := checks.Create(cluster, validation.Options{}).Warnings
	if len(warnings) == 0 {
		t.Fatal("the cluster of this test has no warnings")
	}
	s := scriptOf(t, "problems")
	for i, text := range validation.WarningTexts(warnings) {
		v := validation.Violations(warnings)[i]
		want := object{"severity": "warning", "field": v.Field, "message": v.Message, "rule": v.Rule}
		if diff := cmp.Diff(any(want), s.get("warningOf(text)", object{"text": text})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// clock is what package latest needs of a browser.
const clock = `
var time = 0, timers = [], aborted = [];
var clock = {
  setTimeout(f, ms) { timers.push({f, at: time + ms}); return timers.length; },
  clearTimeout(n) { if (n) timers[n - 1].f = null; },
  AbortController: class { constructor() { this.signal = {n: aborted.push(false) - 1}; } abort() { aborted[this.signal.n] = true; } },
};
function pass(ms) { time += ms; for (const t of timers) { if (t.f && t.at <= time) { const f = t.f; t.f = null; f(); } } }
var started = [], ends = {}, results = [];
var ask = latest({wait: 100, clock, done: (e, r) => results.push(e ? 'error ' + e : r), work: (text) => { started.push(text); return new Promise((yes, no) => { ends[text] = {yes, no}; }); }});
`

func TestLatestAnswerWins(t *testing.T) {
	for name, tc := range map[string]struct {
		steps string
		want  map[string]any
	}{
		"one request for a burst of keys": {
			"ask('a'); pass(50); ask('ab'); pass(99); ask('abc'); pass(100); ends.abc.yes('ok')",
			object{"started": []any{"abc"}, "results": []any{"ok"}, "aborted": []any{false}},
		},
		"a later one aborts what is under way": {
			"ask('a'); pass(100); ask('b'); pass(100); ends.b.yes('of b'); ends.a.yes('of a')",
			object{"started": []any{"a", "b"}, "results": []any{"of b"}, "aborted": []any{true, false}},
		},
		"an answer between two keys is of an old text": {
			"ask('a'); pass(100); ask('b'); ends.a.yes('of a')",
			object{"started": []any{"a"}, "results": []any{}, "aborted": []any{true}},
		},
		"an error is a result": {
			"ask('a'); pass(100); ends.a.no('away')", object{"started": []any{"a"}, "results": []any{"error away"}, "aborted": []any{false}},
		},
		"nothing comes after the end": {
			"ask('a'); pass(100); ask('b'); ask.cancel(); pass(100); ends.a.no('aborted')",
			object{"started": []any{"a"}, "results": []any{}, "aborted": []any{true}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := scriptOf(t, "latest")
			s.run(clock)
			s.run(tc.steps)
			if diff := cmp.Diff(tc.want, s.get("{started, results, aborted}", nil)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHeaderOfText(t *testing.T) {
	s := scriptOf(t, "templates")
	for name, tc := range map[string]struct{ text, want string }{
		"block":                {"kind: RayJob # a job\nmetadata:\n  labels:\n    name: other\n  name: \"a\"\n  namespace: 'b'\nspec:\n  namespace: c\n", "RayJob b a"},
		"Windows":              {"kind: RayJob\r\nmetadata:\r\n  name: a\r\n", "RayJob  a"},
		"labels first, deeper": {"metadata:\n    labels:\n        namespace: no\n    namespace: b\nkind: RayCluster", "RayCluster b "},
		"JSON":                 {` {"kind":"RayJob","metadata":{"name":"a"}}`, "RayJob  a"},
		"JSON in the making":   {`{"kind":"RayJob"`, "  "},
		"nothing":              {"", "  "},
		"a list":               {"- kind: RayJob", "  "},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.get("[headerOf(text)].map((h) => [h.kind, h.namespace, h.name].join(' '))[0]", object{"text": tc.text}); got != tc.want {
				t.Errorf("the header is %q, want %q", got, tc.want)
			}
		})
	}
}

// rules reads a document as the gateway does and returns all that is wrong with it.
func rules(t *testing.T, text string) []string {
	t.Helper()
	tree, mistakes := manifest.Read([]byte(text), true)
	kind, _ := tree["kind"].(string)
	checks, known := validation.ForKind(kind)
	if !known {
		return []string{"no kind: " + mistakes.ToAggregate().Error()}
	}
	typed := checks.New()
	mistakes = append(mistakes, manifest.Decode(tree, typed, nil)...)
	checks.SetDefaults(typed)
	var all []string
	for _, err := range append(mistakes, checks.Create(typed, validation.Options{}).Errors...) {
		all = append(all, err.Error())
	}
	return all
}

func TestTemplatesAreValid(t *testing.T) {
	s := scriptOf(t, "templates")
	all := s.get("Object.entries(templates).flatMap(([kind, list]) => list.map((t) => ({kind, name: t.name, text: t.text('default'), header: headerOf(t.text('default'))})))", nil)
	for _, each := range all.([]any) {
		each := each.(map[string]any)
		t.Run(each["kind"].(string)+" "+each["name"].(string), func(t *testing.T) {
			if wrong := rules(t, each["text"].(string)); len(wrong) > 0 {
				t.Errorf("%s\n%s", strings.Join(wrong, "\n"), each["text"])
			}
			if diff := cmp.Diff(object{"kind": each["kind"], "namespace": "default", "name": "demo"}, each["header"]); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
		})
	}
}

// TestJobsOfForms fills forms with what is awkward in YAML.
func TestJobsOfForms(t *testing.T) {
	s := scriptOf(t, "templates")
	for name, tc := range map[string]struct{ entrypoint, env string }{
		"plain":      {"python a.py", ""},
		"quotes":     {`sh -c 'echo "a: b # c" \ ü 😀'`, "env_vars:\n  A: \"b: c\"\n"},
		"lines":      {"set -e\n\tpython a.py\n", "  pip: [a]\r\n  env_vars: {A: b}\n\n\n"},
		"odd spaces": {"a\u0085b\u2028c\u007f", `{"pip": ["a"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			args := object{"form": object{"namespace": "default", "entrypoint": tc.entrypoint, "runtimeEnv": tc.env, "workers": 0, "cpu": "500m", "memory": "2Gi"}}
			text := s.get("jobOf(form)", args).(string)
			if wrong := rules(t, text); len(wrong) > 0 {
				t.Errorf("%s\n%s", strings.Join(wrong, "\n"), text)
			}
			tree, _ := manifest.Read([]byte(text), true)
			spec := tree["spec"].(map[string]any)
			if spec["entrypoint"] != tc.entrypoint {
				t.Errorf("the entrypoint is %q, want %q", spec["entrypoint"], tc.entrypoint)
			}
			submission, mistakes := manifest.Read([]byte(s.get("submissionOf({...form, id: 'a b'})", nil).(string)), true)
			if len(mistakes) > 0 || submission["entrypoint"] != tc.entrypoint || submission["submissionId"] != "a b" {
				t.Errorf("the submission is %v %v", submission, mistakes)
			}
			if tc.env == "" {
				return
			}
			env, _ := spec["runtimeEnvYAML"].(string)
			fromJob, _ := manifest.Read([]byte(env), true)
			if diff := cmp.Diff(any(fromJob), submission["runtimeEnv"]); diff != "" || len(fromJob) == 0 {
				t.Errorf("the environments of both are %v (-job +submission):\n%s", fromJob, diff)
			}
		})
	}
}

// A job with a profile has only what the user gives, such as its queue; the gateway adds the rest.
func TestJobOfProfile(t *testing.T) {
	s := scriptOf(t, "templates")
	for workers, want := range map[int]any{
		0: map[string]any{},
		3: map[string]any{"workerGroupSpecs": []any{map[string]any{"groupName": "workers", "replicas": int64(3), "minReplicas": int64(3), "maxReplicas": int64(3)}}},
	} {
		form := object{
			"namespace": "default", "entrypoint": "x", "profile": "a100x4", "workers": workers, "cpu": "1", "queue": "team-a", "priorityClass": "high", "labels": "cost=42, example.com/on ,",
		}
		text := s.get("jobOf(form)", object{"form": form}).(string)
		tree, mistakes := manifest.Read([]byte(text), true)
		if len(mistakes) > 0 {
			t.Fatalf("%v in\n%s", mistakes, text)
		}
		labels := map[string]any{
			"raygate.io/profile": "a100x4", "kueue.x-k8s.io/queue-name": "team-a", "kueue.x-k8s.io/priority-class": "high", "cost": "42", "example.com/on": "",
		}
		if diff := cmp.Diff(labels, tree["metadata"].(map[string]any)["labels"]); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, tree["spec"].(map[string]any)["rayClusterSpec"]); diff != "" {
			t.Errorf("%d workers (-want +got):\n%s", workers, diff)
		}
	}
}

func TestVersionOfText(t *testing.T) {
	s := scriptOf(t, "templates")
	const text = "apiVersion: ray.io/v1\nmetadata:\n  name: a\n  resourceVersion: \"12\"\n  uid: x\nspec:\n  a: |\n    status:\n  uid: kept\nstatus:\n  b: 1\n- x\n"
	for expression, want := range map[string]any{
		"versionOf(text)":                                    "12",
		"versionOf(withVersion(text, '13'))":                 "13",
		"versionOf(withVersion(withoutVersion(text), '14'))": "14",
		"withoutStatus(text)":                                "apiVersion: ray.io/v1\nmetadata:\n  name: a\n  resourceVersion: \"12\"\n  uid: x\nspec:\n  a: |\n    status:\n  uid: kept\n- x\n",
		"withoutVersion(withoutStatus(text))":                "apiVersion: ray.io/v1\nmetadata:\n  name: a\nspec:\n  a: |\n    status:\n  uid: kept\n- x\n",
	} {
		if diff := cmp.Diff(want, s.get(expression, object{"text": text})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", expression, diff)
		}
	}
}

func TestDiff(t *testing.T) {
	s := scriptOf(t, "diff")
	for name, tc := range map[string]struct{ before, after, want string }{
		"same":            {"a\nb", "a\nb", ""},
		"changed":         {"1\n2\n3\n4\n5\nx\n6\n7\n8\n9", "1\n2\n3\n4\n5\ny\n6\n7\n8\n9", " 3| 4| 5|-x|+y| 6| 7| 8"},
		"two, one common": {"a\nb\nc", "x\nb\ny", "-a|+x| b|-c|+y"},
		"added":           {"a", "a\nb", " a|+b"},
		"removed":         {"a\nb", "b", "-a| b"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.get("diffOf(before, after).map((l) => l.kind + l.text).join('|')", object{"before": tc.before, "after": tc.after}); got != tc.want {
				t.Errorf("the difference is %q, want %q", got, tc.want)
			}
		})
	}
	if n := s.get("diffOf(Array.from({length: 5000}, (_, i) => 'a' + i).join('\\n'), Array.from({length: 5000}, (_, i) => 'b' + i).join('\\n')).length", nil); n != 10000.0 {
		t.Errorf("texts without a common line differ in %v lines, want 10000", n)
	}
}
