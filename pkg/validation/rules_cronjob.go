package validation

// rulesOfCronJobs are about RayCronJobs alone.
var rulesOfCronJobs = []Rule{
	{ID: "CJ-001", Kind: "RayCronJob", Field: "spec.schedule", Condition: "absent or empty", Tier: TierPeer, Peer: []PeerLayer{PeerSchema, PeerSpec}, Layers: packageOnly},
	{ID: "CJ-002", Kind: "RayCronJob", Field: "spec.jobTemplate", Condition: "absent or empty", Tier: TierPeer, Peer: []PeerLayer{PeerSchema, PeerSpec}, Layers: packageOnly},
	{ID: "CJ-003", Kind: "RayCronJob", Field: "spec.timeZone", Condition: "empty text", Tier: TierPeer, Peer: []PeerLayer{PeerSchema, PeerSpec}, Layers: packageOnly, Same: []string{"CJ-013"}},
	{ID: "CJ-010", Kind: "RayCronJob", Field: "metadata.name", Condition: "longer than 36", Tier: TierPeer, Peer: []PeerLayer{PeerSpec}, Layers: packageOnly},
	{ID: "CJ-011", Kind: "RayCronJob", Field: "spec.schedule", Condition: "contains TZ", Tier: TierPeer, Peer: []PeerLayer{PeerSpec}, Layers: packageOnly},
	{ID: "CJ-012", Kind: "RayCronJob", Field: "spec.schedule", Condition: "neither five cron fields nor a descriptor such as @hourly or @every 5m", Tier: TierPeer, Peer: []PeerLayer{PeerSpec}, Layers: packageOnly},
	{ID: "CJ-014", Kind: "RayCronJob", Field: "spec.timeZone", Condition: "not a known time zone", Tier: TierPeer, Peer: []PeerLayer{PeerSpec}, Layers: packageOnly},
	{ID: "CJ-501", Kind: "RayCronJob", Field: "spec.schedule", Condition: "never comes within five years", Tier: TierAdvice, Layers: packageOnly},
	{ID: "CJ-502", Kind: "RayCronJob", Field: "metadata.name", Condition: "not a DNS-1035 label", Tier: TierPeer, Peer: []PeerLayer{PeerStep}, Layers: packageOnly},
	{ID: "CJ-503", Kind: "RayCronJob", Field: "spec.schedule", Condition: "comes more than once a minute", Tier: TierAdvice, Layers: packageOnly},
	{ID: "CJ-504", Kind: "RayCronJob", Field: "spec.jobTemplate.suspend", Condition: "true", Tier: TierAdvice, Layers: packageOnly},
	{ID: "CJ-505", Kind: "RayCronJob", Field: "spec.jobTemplate.jobId", Condition: "set", Tier: TierAdvice, Layers: packageOnly},
	{ID: "CJ-506", Kind: "RayCronJob", Field: "spec.jobTemplate.shutdownAfterJobFinishes", Condition: "not true, with neither deletionStrategy nor clusterSelector", Tier: TierAdvice, Layers: packageOnly},
	{ID: "CJ-507", Kind: "RayCronJob", Field: "spec.jobTemplate.submissionMode", Condition: "InteractiveMode", Tier: TierAdvice, Layers: packageOnly},
	{ID: "CJ-508", Kind: "RayCronJob", Field: "spec.timeZone", Condition: "Local, or unset", Tier: TierAdvice, Layers: packageOnly},
	{ID: "CJ-509", Kind: "RayCronJob", Field: "spec.schedule", Condition: "changed while a run is due", Tier: TierAdvice, Layers: packageOnly, Transition: true},
	{ID: "CJ-510", Kind: "RayCronJob", Field: "kind", Condition: "gate RayCronJob off", Tier: TierAdvice, Layers: packageOnly},
	{ID: "CJ-581", Kind: "RayCronJob", Field: "spec", Condition: "absent", Tier: TierPeer, Peer: []PeerLayer{PeerSpec}, Layers: packageOnly},
}
