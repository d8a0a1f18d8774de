package webhook

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

// verdict is what the rules say about a request.
type verdict struct {
	errors   field.ErrorList
	warnings field.ErrorList
}

// kind is what the handlers know about one of the four.
type kind struct {
	name     string
	resource string
	// judge decodes and checks a new object; before is empty on create.
	judge func(after, before []byte, o validation.Options) (verdict, error)
	// defaulted returns the object as its Go type writes it, without and with defaults.
	defaulted func(raw []byte) (plain, filled []byte, err error)
}

// kinds are all kinds of the group. Each has a webhook of its own in the manifests, so that one can be turned off.
var kinds = []kind{
	kindOf("RayCluster", "rayclusters", rayv1.SetRayClusterDefaults, rules[rayv1.RayCluster]{
		create: validation.RayCluster, createWarnings: validation.RayClusterWarningList,
		update: validation.RayClusterUpdate, updateWarnings: validation.RayClusterUpdateWarningList,
	}),
	kindOf("RayJob", "rayjobs", rayv1.SetRayJobDefaults, rules[rayv1.RayJob]{
		create: validation.RayJob, createWarnings: validation.RayJobWarningList,
		update: validation.RayJobUpdate, updateWarnings: validation.RayJobUpdateWarningList,
	}),
	kindOf("RayService", "rayservices", rayv1.SetRayServiceDefaults, rules[rayv1.RayService]{
		create: validation.RayService, createWarnings: validation.RayServiceWarningList,
		update: validation.RayServiceUpdate, updateWarnings: validation.RayServiceUpdateWarningList,
	}),
	kindOf("RayCronJob", "raycronjobs", rayv1.SetRayCronJobDefaults, rules[rayv1.RayCronJob]{
		create: validation.RayCronJob, createWarnings: validation.RayCronJobWarningList,
		update: validation.RayCronJobUpdate, updateWarnings: validation.RayCronJobUpdateWarningList,
	}),
}

// rules are the entry points of package validation for one kind. The two for updates ratchet.
type rules[T any] struct {
	create, createWarnings func(*T, validation.Options) field.ErrorList
	update, updateWarnings func(after, before *T, o validation.Options) field.ErrorList
}

func kindOf[T any](name, resource string, setDefaults func(*T), r rules[T]) kind {
	decode := func(raw []byte) (*T, error) {
		obj := new(T)
		if err := json.Unmarshal(raw, obj); err != nil {
			return nil, err
		}
		return obj, nil
	}
	return kind{
		name:     name,
		resource: resource,
		judge: func(after, before []byte, o validation.Options) (verdict, error) {
			obj, err := decode(after)
			if err != nil {
				return verdict{}, err
			}
			// Written through v1alpha1 an object arrives without the defaults of fields that only v1 has.
			setDefaults(obj)
			if len(before) == 0 {
				return verdict{errors: r.create(obj, o), warnings: r.createWarnings(obj, o)}, nil
			}
			was, err := decode(before)
			if err != nil {
				// What is stored cannot be read; whatever replaces it can only be better.
				return verdict{errors: r.create(obj, o), warnings: r.createWarnings(obj, o)}, nil //nolint:nilerr // see above
			}
			setDefaults(was)
			return verdict{errors: r.update(obj, was, o), warnings: r.updateWarnings(obj, was, o)}, nil
		},
		defaulted: func(raw []byte) (plain, filled []byte, err error) {
			obj, err := decode(raw)
			if err != nil {
				return nil, nil, err
			}
			if plain, err = json.Marshal(obj); err != nil {
				return nil, nil, fmt.Errorf("encoding a %s: %w", name, err)
			}
			setDefaults(obj)
			if filled, err = json.Marshal(obj); err != nil {
				return nil, nil, fmt.Errorf("encoding a %s: %w", name, err)
			}
			return plain, filled, nil
		},
	}
}
