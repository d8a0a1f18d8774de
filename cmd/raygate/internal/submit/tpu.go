package submit

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// topology matches the chips of a slice in two or three dimensions.
var topology = regexp.MustCompile(`^[1-9][0-9]{0,2}(x[1-9][0-9]{0,2}){1,2}$`)

// addTPU selects the nodes of GKE for the workers, if there are any. Each worker becomes a slice of as many Pods as the topology needs.
func (o *Options) addTPU(groups []rayv1.WorkerGroupSpec) error {
	if o.TPUType == "" && o.TPUTopology == "" {
		return nil
	}
	chips, _ := strconv.Atoi(o.Worker.TPU)
	if len(groups) == 0 || chips < 1 || o.TPUType == "" || o.TPUTopology == "" {
		return errors.New("--tpu-type and --tpu-topology belong together, and need --workers and --worker-tpu, the chips of each Pod")
	}
	if !topology.MatchString(o.TPUTopology) {
		return fmt.Errorf("--tpu-topology: %q is not a topology such as 2x4 or 2x2x2", o.TPUTopology)
	}
	all := 1
	for side := range strings.SplitSeq(o.TPUTopology, "x") {
		n, _ := strconv.Atoi(side) // the form has been checked
		all *= n
	}
	if all%chips != 0 {
		return fmt.Errorf("--tpu-topology: the %d chips of %s are not a multiple of the %d chips of each Pod; change --worker-tpu", all, o.TPUTopology, chips)
	}
	group := &groups[0]
	group.Template.Spec.NodeSelector = map[string]string{"cloud.google.com/gke-tpu-accelerator": o.TPUType, "cloud.google.com/gke-tpu-topology": o.TPUTopology}
	if hosts := all / chips; hosts > 1 {
		group.NumOfHosts = int32(hosts)
	}
	return nil
}
