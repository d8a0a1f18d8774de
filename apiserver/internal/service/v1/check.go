package v1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// invalid is the error for what is wrong with a request, nil for nothing, in the order in which it was found.
func invalid(errs field.ErrorList) error {
	var all []rpcstatus.Violation
	for _, e := range errs {
		all = append(all, rpcstatus.Violation{Field: e.Field, Description: e.ErrorBody(), Reason: string(e.Type)})
	}
	if len(all) == 0 {
		return nil
	}
	return &rpcstatus.InvalidError{Reason: "INVALID_ARGUMENT", Violations: all}
}

func required(path string) *field.Error { return field.Required(field.NewPath(path), "") }

// checkObject checks the request of a get or a delete.
func checkObject(req one) error {
	var errs field.ErrorList
	if req.GetName() == "" {
		errs = append(errs, required("name"))
	}
	if req.GetNamespace() == "" {
		errs = append(errs, required("namespace"))
	}
	return invalid(errs)
}

// checkPlace checks where an object is created.
func checkPlace(namespace string, o one) field.ErrorList {
	var errs field.ErrorList
	if namespace == "" {
		errs = append(errs, required("namespace"))
	} else if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		errs = append(errs, field.Invalid(field.NewPath("namespace"), namespace, problems[0]))
	}
	if o.GetNamespace() != namespace {
		errs = append(errs, field.Invalid(field.NewPath("namespace"), o.GetNamespace(), "must be the namespace of the request, "+namespace))
	}
	if o.GetName() == "" {
		errs = append(errs, required("name"))
	}
	return errs
}

// checkOwned is checkPlace for an object that belongs to somebody.
func checkOwned(namespace string, o interface {
	one
	GetUser() string
},
) field.ErrorList {
	errs := checkPlace(namespace, o)
	if o.GetUser() == "" {
		errs = append(errs, required("user"))
	}
	return errs
}

// checkSpec checks a cluster's spec before its compute templates are looked for.
func checkSpec(spec *kuberay.ClusterSpec) field.ErrorList {
	path := field.NewPath("clusterSpec")
	if spec == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	if head, at := spec.GetHeadGroupSpec(), path.Child("headGroupSpec"); head == nil {
		errs = append(errs, field.Required(at, ""))
	} else {
		if head.GetComputeTemplate() == "" {
			errs = append(errs, field.Required(at.Child("computeTemplate"), ""))
		}
		if len(head.GetRayStartParams()) == 0 {
			errs = append(errs, field.Required(at.Child("rayStartParams"), "at least one entry"))
		}
		errs = append(errs, checkPullPolicy(head.GetImagePullPolicy(), at)...)
	}
	for i, g := range spec.GetWorkerGroupSpec() {
		at := path.Child("workerGroupSpec").Index(i)
		if g.GetGroupName() == "" {
			errs = append(errs, field.Required(at.Child("groupName"), ""))
		}
		if g.GetComputeTemplate() == "" {
			errs = append(errs, field.Required(at.Child("computeTemplate"), ""))
		}
		if g.GetMaxReplicas() == 0 {
			errs = append(errs, field.Required(at.Child("maxReplicas"), "must not be 0"))
		}
		if g.GetMinReplicas() > g.GetMaxReplicas() {
			errs = append(errs, field.Invalid(at.Child("minReplicas"), g.GetMinReplicas(), fmt.Sprintf("must not be greater than maxReplicas, %d", g.GetMaxReplicas())))
		}
		errs = append(errs, checkPullPolicy(g.GetImagePullPolicy(), at)...)
	}
	return errs
}

func checkPullPolicy(policy string, path *field.Path) field.ErrorList {
	switch policy {
	case "", "Always", "IfNotPresent":
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Child("imagePullPolicy"), policy, []string{"Always", "IfNotPresent"})}
}

// checkName refuses what cannot be the name of an object: Kubernetes would be asked for a path that does not exist.
func checkName(namespace, name string) (errs field.ErrorList) {
	for _, problem := range validation.IsDNS1123Label(namespace) {
		errs = append(errs, field.Invalid(field.NewPath("namespace"), namespace, problem))
	}
	for _, problem := range validation.IsDNS1123Subdomain(name) {
		errs = append(errs, field.Invalid(field.NewPath("name"), name, problem))
	}
	return errs
}
