package pod

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// startCommand renders "ray start". Each flag has a blank on either side, as in KubeRay, because the text is visible in the Pod.
// value converts the values.
func startCommand(kind rayv1.RayNodeType, params map[string]string, value func(string) string) string {
	var b strings.Builder
	b.WriteString("ray start ")
	if kind.IsHead() {
		b.WriteString("--head ")
	}
	for _, key := range slices.Sorted(maps.Keys(params)) {
		switch v := params[key]; {
		case isTrue(v) && !takesBoolean(key):
			b.WriteString(" --" + key + " ")
		case strings.EqualFold(v, "false") && !takesBoolean(key):
			// Omit a disabled flag.
		default:
			b.WriteString(" --" + key + "=" + value(v) + " ")
		}
	}
	return b.String()
}

// quoted quotes a value for the shell if its meaning is unambiguous. Users write quotes, $VARIABLES and backslashes on purpose, so
// such a value stays as it is, unless it is a bare JSON object, whose quotes the shell would remove. A value with further flags
// after a blank also stays. KubeRay quotes nothing, so a blank ends the value.
//
// It applies to the line that the operator passes to a shell. The environment variable has unquoted values (see unquoted).
func quoted(value string) string {
	const (
		wordBreaking = " \t\r\n;&|<>()"
		shellSyntax  = "'\"`$\\"
	)
	inner := strings.TrimSpace(value)
	switch {
	case value == "$"+envRedisUsername, value == "$"+envRedisPassword:
		return `"` + value + `"` // set by the operator; its value may contain blanks
	case strings.HasPrefix(inner, `{"`) && json.Valid([]byte(inner)) && !strings.ContainsAny(inner, "'`$"):
	case !strings.ContainsAny(inner, wordBreaking), strings.ContainsAny(value, shellSyntax), strings.Contains(value, " -"):
		return value
	}
	return "'" + value + "'"
}

// unquoted applies to the variable KUBERAY_GEN_RAY_START_CMD. User commands contain it as $KUBERAY_GEN_RAY_START_CMD, which a
// shell splits at blanks without removing quotes, so quotes would reach Ray.
func unquoted(value string) string { return value }

// takesBoolean reports whether the flag requires an explicit true or false.
func takesBoolean(flag string) bool {
	return flag == "log-color" || flag == "include-dashboard" || flag == "include-log-monitor"
}

// setCommand makes the Ray container run the user's command, if any, and then start. It changes nothing if the user's command
// starts Ray or an annotation disables it. Like KubeRay, it joins the user's words with blanks and does not quote them. Most are
// shell lines, such as "pip install x && export Y=1", which must affect the shell that starts Ray.
func setCommand(ray *corev1.Container, annotations map[string]string, start string, loginShell bool) {
	var user strings.Builder
	for _, word := range slices.Concat(ray.Command, ray.Args) {
		user.WriteString(" " + word + " ")
	}
	if isTrue(annotations[rayv1.AnnotationOverwriteContainerCmd]) || strings.Contains(user.String(), "ray start") {
		return
	}
	command := "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; " + start
	if user.Len() > 0 {
		command = user.String() + " && " + command
	}
	ray.Command = Shell(loginShell)
	ray.Args = []string{command}
}

// Shell returns the command of containers whose argument is a shell line.
func Shell(login bool) []string {
	if login {
		return []string{"/bin/bash", "-cl", "--"}
	}
	return []string{"/bin/bash", "-c", "--"}
}
