package main

// section is a part of the navigation.
type section struct {
	title   string
	entries []entry
}

// entry is a page, by its file in the repository.
type entry struct{ title, file string }

// navigation has every page once; a test demands that no file of docs/ is missing.
var navigation = []section{
	{"Start", []entry{
		{"raygate", "README.md"},
		{"Concepts", "docs/concepts.md"},
		{"The local cluster", "docs/localcluster.md"},
	}},
	{"Installing", []entry{
		{"Images, Helm, kustomize", "docs/install.md"},
		{"Webhooks and policies", "docs/webhooks.md"},
		{"Coming from KubeRay", "docs/moving-from-kuberay.md"},
	}},
	{"Kinds", []entry{
		{"RayCluster", "docs/raycluster.md"},
		{"RayJob and RayCronJob", "docs/rayjob.md"},
		{"RayService", "docs/rayservice.md"},
	}},
	{"Gateway and clients", []entry{
		{"Gateway: REST and gRPC", "docs/gateway.md"},
		{"Console", "docs/console.md"},
		{"Python", "docs/python.md"},
		{"Command line", "docs/cli.md"},
	}},
	{"Operating", []entry{
		{"Settings of the operator", "docs/operator.md"},
		{"Metrics, dashboards, alerts", "docs/observability.md"},
		{"Rights", "docs/rbac.md"},
		{"Device admission", "docs/device-admission.md"},
		{"Figures", "docs/benchmarks.md"},
	}},
	{"Reference", []entry{
		{"Custom resources", "docs/kinds.md"},
		{"Rules", "docs/validation.md"},
		{"API of the gateway", "docs/reference.md"},
	}},
	{"Working on it", []entry{
		{"Contributing", "CONTRIBUTING.md"},
	}},
}
