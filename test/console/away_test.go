package console

import "testing"

// The API server stops while a page is open and comes back. The page reports that, keeps its content, and is live again by itself. The same
// holds for the gateway.
func TestAway(t *testing.T) {
	ns := namespace(t)
	createStill(t, ns, still{name: "before", ready: true, workers: 2, version: "2.52.0"})
	u := comesTo(t, stage.admin, "/ui/clusters?namespace="+ns)
	u.expects("status of 503", "status of 504", "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "ERR_NETWORK")
	u.hasRows("before")
	u.sees("Live")

	u.must(stage.Env.KillAPIServer())
	u.sees("Kubernetes away")
	u.hasRows("before")
	u.looks("api-server-away")
	u.must(stage.Env.RestartAPIServer())
	u.seesNoMore("Kubernetes away")
	createStill(t, ns, still{name: "between", ready: true, version: "2.52.0"})
	u.hasRows("before", "between")

	stage.Gateway.Kill()
	u.sees("Connection lost")
	u.hasRows("before", "between")
	u.looks("gateway-away")
	createStill(t, ns, still{name: "later", ready: true, version: "2.52.0"})
	u.must(stage.Gateway.Start())
	u.hasRows("before", "between", "later")
	u.seesNoMore("Connection lost")
}
