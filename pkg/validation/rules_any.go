package validation

// rulesOfAllKinds are about more than one kind.
var rulesOfAllKinds = []Rule{
	{ID: "X-501", Kind: KindAny, Field: "apiVersion", Condition: "a write by v1alpha1 removes fields that only v1 has", Tier: TierAdvice, Layers: packageOnly, Transition: true},
	{ID: "X-502", Kind: "RayJob", Field: "spec", Condition: "label kueue.x-k8s.io/queue-name with autoscaling, without shutdownAfterJobFinishes, or with more than 8 kinds of Pods", Tier: TierAdvice, Layers: packageOnly},
	{ID: "X-503", Kind: "RayCluster", Field: "spec", Condition: "edited by a person although a RayJob or a RayService owns the cluster", Tier: TierAdvice, Layers: packageOnly, Transition: true},
	{ID: "X-504", Kind: KindAny, Field: "metadata.labels", Condition: "a label with the prefix ray.io/originated-from on an object without an owner", Tier: TierAdvice, Layers: packageOnly},
}
