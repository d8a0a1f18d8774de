package main

import (
	"fmt"
	"hash/fnv"
	"maps"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/controller/raycluster"
	"github.com/raygate/raygate/operator/internal/controller/rayservice"
)

// ShardOptions select the Ray objects of this operator when several operators run in a Kubernetes cluster.
type ShardOptions struct {
	// LabelSelector selects Ray objects by their labels; empty means all.
	LabelSelector string
	// LeaseName is the name of the Lease that the replicas of this operator share. Empty means leaseName, with a suffix if there is a selector.
	LeaseName string

	selector labels.Selector // nil means all
}

func (s *ShardOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.LabelSelector, "watch-label-selector", s.LabelSelector, "Label selector of the Ray objects to watch, for example shard=a. Objects that are created from a Ray object have its labels. Unset: all.")
	fs.StringVar(&s.LeaseName, "leader-election-name", s.LeaseName, "Name of the Lease. Several operators in one namespace need different names. Unset: "+leaseName+", with a suffix made from --watch-label-selector if that is set.")
}

// complete parses the selector and derives the name of the Lease.
func (s *ShardOptions) complete() error {
	selector, err := labels.Parse(s.LabelSelector)
	if err != nil {
		return fmt.Errorf("--watch-label-selector is %q: %w", s.LabelSelector, err)
	}
	if !selector.Empty() {
		s.selector = selector
	}
	if s.LeaseName != "" {
		return nil
	}
	s.LeaseName = leaseName
	if s.selector != nil {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(s.selector.String())) // in the order of the keys
		s.LeaseName = fmt.Sprintf("%s-%08x", leaseName, hash.Sum32())
	}
	return nil
}

func (s *ShardOptions) validate(refuse func(flag, format string, args ...any)) {
	for _, problem := range validation.IsDNS1123Subdomain(s.LeaseName) {
		refuse("leader-election-name", "is %q: %s", s.LeaseName, problem)
	}
}

// keys are the labels that the selector asks for.
func (s *ShardOptions) keys() []string {
	if s.selector == nil {
		return nil
	}
	var keys []string
	requirements, _ := s.selector.Requirements()
	for _, r := range requirements {
		keys = append(keys, r.Key())
	}
	return keys
}

// cached returns which objects the caches hold. Only Ray objects are selected by labels: the Pods and Services of an object that comes from
// another operator may lack the label, and must be found without a write.
func cached(s ShardOptions) map[client.Object]cache.ByObject {
	by := raycluster.CacheByObject()
	maps.Copy(by, rayservice.CacheByObject())
	if s.selector == nil {
		return by
	}
	for kind, config := range by {
		if _, ok := kind.(*rayv1.RayCluster); ok {
			config.Label = s.selector
			by[kind] = config
		}
	}
	for _, kind := range []client.Object{&rayv1.RayJob{}, &rayv1.RayService{}, &rayv1.RayCronJob{}} {
		by[kind] = cache.ByObject{Label: s.selector}
	}
	return by
}
