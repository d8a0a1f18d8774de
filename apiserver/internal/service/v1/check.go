package v1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// invalid is the error for the problems of a request, in the order in which they were found; nil if there are none.
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

// problems collects the problems of a request.
type problems struct{ field.ErrorList }

// require requires that a field is set. detail is empty if the name of the field is clear enough.
func (p *problems) require(set bool, path *field.Path, detail string) {
	if !set {
		p.ErrorList = append(p.ErrorList, field.Required(path, detail))
	}
}

// checkObject checks the request of a get or a delete.
func checkObject(req one) error {
	var p problems
	p.require(req.GetName() != "", field.NewPath("name"), "")
	p.require(req.GetNamespace() != "", field.NewPath("namespace"), "")
	return invalid(p.ErrorList)
}

// checkPlace checks where an object is created.
func checkPlace(namespace string, o one) field.ErrorList {
	var p problems
	path := field.NewPath("namespace")
	p.require(namespace != "", path, "")
	if wrong := validation.IsDNS1123Label(namespace); namespace != "" && len(wrong) > 0 {
		p.ErrorList = append(p.ErrorList, field.Invalid(path, namespace, wrong[0]))
	}
	if o.GetNamespace() != namespace {
		p.ErrorList = append(p.ErrorList, field.Invalid(path, o.GetNamespace(), "must be the namespace of the request, "+namespace))
	}
	p.require(o.GetName() != "", field.NewPath("name"), "")
	return p.ErrorList
}

// checkOwned is checkPlace for an object with an owner.
func checkOwned(namespace string, o interface {
	one
	GetUser() string
},
) field.ErrorList {
	p := problems{checkPlace(namespace, o)}
	p.require(o.GetUser() != "", field.NewPath("user"), "")
	return p.ErrorList
}

// checkSpec checks a cluster's spec before its compute templates are read.
func checkSpec(spec *kuberay.ClusterSpec) field.ErrorList {
	var p problems
	path := field.NewPath("clusterSpec")
	p.require(spec != nil, path, "")
	if spec == nil {
		return p.ErrorList
	}
	head, at := spec.GetHeadGroupSpec(), path.Child("headGroupSpec")
	p.require(head != nil, at, "")
	if head != nil {
		p.require(head.GetComputeTemplate() != "", at.Child("computeTemplate"), "")
		p.require(len(head.GetRayStartParams()) > 0, at.Child("rayStartParams"), "at least one entry")
		p.checkPullPolicy(head.GetImagePullPolicy(), at)
	}
	for i, g := range spec.GetWorkerGroupSpec() {
		at := path.Child("workerGroupSpec").Index(i)
		p.require(g.GetGroupName() != "", at.Child("groupName"), "")
		p.require(g.GetComputeTemplate() != "", at.Child("computeTemplate"), "")
		p.require(g.GetMaxReplicas() != 0, at.Child("maxReplicas"), "must not be 0")
		if g.GetMinReplicas() > g.GetMaxReplicas() {
			detail := fmt.Sprintf("must not be greater than maxReplicas, %d", g.GetMaxReplicas())
			p.ErrorList = append(p.ErrorList, field.Invalid(at.Child("minReplicas"), g.GetMinReplicas(), detail))
		}
		p.checkPullPolicy(g.GetImagePullPolicy(), at)
	}
	return p.ErrorList
}

func (p *problems) checkPullPolicy(policy string, path *field.Path) {
	if policy != "" && policy != "Always" && policy != "IfNotPresent" {
		p.ErrorList = append(p.ErrorList, field.NotSupported(path.Child("imagePullPolicy"), policy, []string{"Always", "IfNotPresent"}))
	}
}

// checkName refuses names that no object can have, because Kubernetes would get a request for a path that does not exist.
func checkName(namespace, name string) (errs field.ErrorList) {
	for _, problem := range validation.IsDNS1123Label(namespace) {
		errs = append(errs, field.Invalid(field.NewPath("namespace"), namespace, problem))
	}
	for _, problem := range validation.IsDNS1123Subdomain(name) {
		errs = append(errs, field.Invalid(field.NewPath("name"), name, problem))
	}
	return errs
}
