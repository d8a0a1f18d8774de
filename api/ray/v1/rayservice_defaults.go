package v1

// SetRayServiceDefaults fills what the schema of the CRD fills, and nothing else; see SetRayClusterDefaults.
func SetRayServiceDefaults(rs *RayService) {
	setClusterSpecDefaults(&rs.Spec.RayClusterSpec)
	setServiceDefaults(rs.Spec.ServeService)
	if u := rs.Spec.UpgradeStrategy; u != nil && u.ClusterUpgradeOptions != nil && u.ClusterUpgradeOptions.MaxSurgePercent == nil {
		u.ClusterUpgradeOptions.MaxSurgePercent = new(int32(100))
	}
}
