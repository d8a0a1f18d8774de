package verb

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/cli-runtime/pkg/printers"

	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

func newTop(flags *connect.Flags) *cobra.Command {
	all, live, form := false, false, output.Table
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show what clusters request, the largest first",
		Long: `Show the CPUs, GPUs, TPUs and memory that the Pods of clusters request, with the sum, and
how many worker Pods are ready. Clusters with most GPUs and TPUs come first. A suspended
cluster requests nothing.

--live adds what the nodes use now, from Ray's dashboard: the share of their CPUs and GPUs,
and their memory. You need "get" of services/proxy. A dashboard that does not answer is
shown as -.`,
		Example: `  raygate top
  raygate top --live
  raygate top -A
  raygate top -A -o json`,
		Args: cobra.NoArgs,
		RunE: run(flags, func(ctx context.Context, s *session, _ []string) error {
			if form != output.Table && form != output.JSON && form != output.YAML {
				return fmt.Errorf("unknown output %q: use table, json or yaml", form)
			}
			if all {
				s.namespace = ""
			}
			ctx, cancel := s.bounded(ctx)
			defer cancel()
			var clusters []*raygatev2.RayCluster
			for m, err := range s.client.Messages(raygate.ClusterKind, s.namespace).List(ctx, raygate.ListOptions{}) {
				if err != nil {
					s.fail("clusters", err, ExitFailed)
					return nil
				}
				clusters = append(clusters, m.(*raygatev2.RayCluster))
			}
			demands, sum := demandsOf(clusters)
			if live {
				if err := addUse(ctx, s, demands); err != nil {
					return err
				}
			}
			if form == output.Table {
				return printTop(s.out, demands, sum, all)
			}
			return printFor(s.out, form, topTree(demands, sum))
		}),
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "all namespaces")
	cmd.Flags().BoolVar(&live, "live", false, "also show what the nodes use now")
	addURL(cmd, flags)
	cmd.Flags().StringVarP(&form, "output", "o", output.Table, "output format: table, json, yaml; amounts are quantities")
	return cmd
}

// demand is the total of the requests of a cluster.
type demand struct {
	namespace, name, state string
	ready, wanted          int32
	amounts                [4]resource.Quantity // CPUs, GPUs, TPUs, memory
	use                    *use                 // nil if it was not asked for
}

func demandOf(rc *raygatev2.RayCluster) demand {
	st := rc.GetStatus()
	d := demand{namespace: rc.GetMetadata().GetNamespace(), name: rc.GetMetadata().GetName(), state: cmp.Or(st.GetState(), "provisioning")}
	if d.state == "suspended" {
		return d
	}
	d.ready, d.wanted = st.GetReadyWorkerReplicas(), st.GetDesiredWorkerReplicas()
	for i, text := range []string{st.GetDesiredCpu(), st.GetDesiredGpu(), st.GetDesiredTpu(), st.GetDesiredMemory()} {
		if q, err := resource.ParseQuantity(text); err == nil { // others besides the operator may write the status
			d.amounts[i] = q
		}
	}
	return d
}

// less orders by accelerators, then CPUs, and then by name.
func less(a, b demand) int {
	accelerators := func(d demand) int64 { return d.amounts[1].Value() + d.amounts[2].Value() }
	byName := cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	return cmp.Or(cmp.Compare(accelerators(b), accelerators(a)), b.amounts[0].Cmp(a.amounts[0]), byName)
}

// demandsOf returns what clusters request, the largest first, and the sum.
func demandsOf(clusters []*raygatev2.RayCluster) (demands []demand, sum demand) {
	demands, sum = make([]demand, len(clusters)), demand{namespace: "TOTAL", name: "TOTAL"}
	for i, rc := range clusters {
		d := demandOf(rc)
		demands[i] = d
		sum.ready, sum.wanted = sum.ready+d.ready, sum.wanted+d.wanted
		for j := range d.amounts {
			sum.amounts[j].Add(d.amounts[j])
		}
	}
	slices.SortFunc(demands, less)
	return demands, sum
}

// topTree returns the JSON of what clusters request.
func topTree(demands []demand, sum demand) map[string]any {
	tree := func(d demand) map[string]any {
		amounts := map[string]any{"readyWorkers": d.ready, "workers": d.wanted}
		for i, name := range []string{"cpus", "gpus", "tpus", "memory"} {
			amounts[name] = d.amounts[i].String()
		}
		if d.use != nil && d.use.known {
			amounts["use"] = d.use.tree()
		}
		return amounts
	}
	clusters := make([]any, len(demands))
	for i, d := range demands {
		one := tree(d)
		one["namespace"], one["name"], one["state"] = d.namespace, d.name, d.state
		clusters[i] = one
	}
	return map[string]any{"clusters": clusters, "total": tree(sum)}
}

func printTop(w io.Writer, demands []demand, sum demand, all bool) error {
	if all {
		sum.name = ""
	}
	tabs := printers.GetNewTabWriter(w)
	header := "NAME\tSTATUS\tREADY WORKERS\tCPUS\tGPUS\tTPUS\tMEMORY"
	live := slices.ContainsFunc(demands, func(d demand) bool { return d.use != nil })
	if live {
		header += "\tCPU USE\tGPU USE\tMEMORY USE"
	}
	if all {
		header = "NAMESPACE\t" + header
	}
	fmt.Fprintln(tabs, header)
	for _, d := range append(demands, sum) {
		row := []string{d.name, d.state, fmt.Sprintf("%d/%d", d.ready, d.wanted)}
		if all {
			row = append([]string{d.namespace}, row...)
		}
		for i := range d.amounts {
			row = append(row, d.amounts[i].String())
		}
		if d.use != nil {
			row = append(row, d.use.columns()...)
		}
		fmt.Fprintln(tabs, strings.Join(row, "\t"))
	}
	return tabs.Flush()
}
