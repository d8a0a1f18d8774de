package cluster

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/validation/rule"
)

// taken says why something cannot be used, and by which rule. The zero value stands for what is free.
type taken struct {
	by  *rule.Rule
	why string
}

// forbidVariables refuses the variables in a list at the path that are taken.
func forbidVariables(out *rule.Report, env []corev1.EnvVar, path *field.Path, names map[string]taken) {
	for i := range env {
		if t := names[env[i].Name]; t.by != nil {
			out.Forbidden(t.by, path.Index(i).Child("name"), env[i].Name+" "+t.why)
		}
	}
}

// allTaken are names that are taken for one reason.
func allTaken(by *rule.Rule, why string, names ...string) map[string]taken {
	all := make(map[string]taken, len(names))
	for _, name := range names {
		all[name] = taken{by, why}
	}
	return all
}

// refuseVolume refuses a volume of the user's with the name of one that the operator adds.
func refuseVolume(out *rule.Report, by *rule.Rule, pod *corev1.PodSpec, name string, path *field.Path) {
	for i := range pod.Volumes {
		if pod.Volumes[i].Name == name {
			out.Invalid(by, path.Child("volumes").Index(i).Child("name"), name)
		}
	}
}
