package pod

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// startCommand renders "ray start". Each flag has a blank on either side, so that two stand between flags and one at
// the end: the text is visible in the Pod and equal to KubeRay's. Values go through the function.
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
			// A flag that is off is left out.
		default:
			b.WriteString(" --" + key + "=" + value(v) + " ")
		}
	}
	return b.String()
}

// quoted protects a value from the shell where nobody can have meant anything else. Users write quotes, $VARIABLES and
// backslashes on purpose, so such a value is left alone, unless it is a bare JSON object, of which the shell would leave
// no quote. So is one with further flags behind a blank. KubeRay quotes nothing: a blank then ends the value.
//
// It is for the line that the operator itself gives to a shell. In the variable values stay as they are (see unquoted).
func quoted(value string) string {
	const (
		wordBreaking = " \t\r\n;&|<>()"
		shellSyntax  = "'\"`$\\"
	)
	inner := strings.TrimSpace(value)
	switch {
	case value == "$"+envRedisUsername, value == "$"+envRedisPassword:
		return `"` + value + `"` // the operator's own: what is in it may have blanks
	case strings.HasPrefix(inner, `{"`) && json.Valid([]byte(inner)) && !strings.ContainsAny(inner, "'`$"):
	case !strings.ContainsAny(inner, wordBreaking), strings.ContainsAny(value, shellSyntax), strings.Contains(value, " -"):
		return value
	}
	return "'" + value + "'"
}

// unquoted is for the variable KUBERAY_GEN_RAY_START_CMD. Commands of users contain it as $KUBERAY_GEN_RAY_START_CMD, where
// a shell splits at blanks but takes no quotes away: any that were added would reach Ray.
func unquoted(value string) string { return value }

// takesBoolean reports whether the flag wants true or false spelt out.
func takesBoolean(flag string) bool {
	return flag == "log-color" || flag == "include-dashboard" || flag == "include-log-monitor"
}

// setCommand makes the Ray container run the user's command, if any, and then start. The container stays as it is when
// the user starts Ray himself or says so by annotation. The words of the user are joined by blanks and not quoted, as by
// KubeRay: most of them are lines for a shell, such as "pip install x && export Y=1", and shall act on the shell that
// starts Ray.
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

// Shell is the command of containers that get a line for the shell as their argument.
func Shell(login bool) []string {
	if login {
		return []string{"/bin/bash", "-cl", "--"}
	}
	return []string{"/bin/bash", "-c", "--"}
}
