package verb

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

type usageCommand struct {
	output         output.Flags
	month, groupBy string
}

// formCSV is an output format of this command alone.
const formCSV = "csv"

func newUsage(flags *connect.Flags) *cobra.Command {
	u := &usageCommand{}
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Show what deleted clusters requested in a month",
		Long: `Show for how long the clusters of a namespace requested CPUs, GPUs, TPUs and memory in a
month, by queue and owner.

The sum has the clusters that were deleted, those of jobs and services included. Clusters
that still run are not in it. The owner is the user in the annotation raygate.io/user or
the label ray.io/user, and the month is that of UTC.

Tables have hours, all other formats have seconds. The gateway needs a history store.`,
		Example: `  raygate usage -n team-a
  raygate usage -n team-a --month 2026-11 --group-by owner -o csv`,
		Args: cobra.NoArgs,
		RunE: run(flags, u.run),
	}
	cmd.Flags().StringVar(&u.month, "month", "", "month, such as 2026-11 (default the current one)")
	cmd.Flags().StringVar(&u.groupBy, "group-by", "queue,owner", "queue, owner, or both with a comma; empty for one sum")
	cmd.Flags().StringVarP(&u.output.Form, "output", "o", output.Table, "output format: table, csv, json, yaml")
	return cmd
}

func (u *usageCommand) run(ctx context.Context, s *session, _ []string) error {
	if err := u.output.Check(output.Table, formCSV, output.JSON, output.YAML); err != nil {
		return err
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	got, err := raygatev2.NewHistoryServiceClient(s.client.Conn()).GetUsage(ctx, &raygatev2.GetUsageRequest{
		Namespace: s.namespace, Month: u.month, GroupBy: u.groupBy,
	})
	switch {
	case err != nil:
		s.fail("usage of namespace "+s.namespace, err, ExitFailed)
		return nil
	case u.output.Form == formCSV:
		return usageCSV(s.out, got)
	case u.output.Full():
		return printFor(s.out, u.output.Form, convert.Tree(got))
	}
	return usageTable(s.out, got)
}

// secondsOf returns the columns of CPUs, GPUs, TPUs and memory.
func secondsOf(item *raygatev2.Usage) []float64 {
	return []float64{item.GetCpuSeconds(), item.GetGpuSeconds(), item.GetTpuSeconds(), item.GetMemoryGibSeconds()}
}

// onOneLine returns a text that a user wrote, for a table.
func onOneLine(text string) string {
	return cmp.Or(output.Clean(strings.Join(strings.Fields(text), " ")), "<none>")
}

func usageTable(w io.Writer, got *raygatev2.GetUsageResponse) error {
	tabs := printers.GetNewTabWriter(w)
	fmt.Fprintln(tabs, "QUEUE\tOWNER\tCLUSTERS\tCPU HOURS\tGPU HOURS\tTPU HOURS\tMEMORY GIB HOURS")
	for _, item := range got.GetItems() {
		row := []string{onOneLine(item.GetQueue()), onOneLine(item.GetOwner()), strconv.Itoa(int(item.GetClusters()))}
		for _, seconds := range secondsOf(item) {
			row = append(row, strconv.FormatFloat(seconds/3600, 'f', 2, 64))
		}
		fmt.Fprintln(tabs, strings.Join(row, "\t"))
	}
	return tabs.Flush()
}

func usageCSV(w io.Writer, got *raygatev2.GetUsageResponse) error {
	rows := [][]string{{"namespace", "month", "queue", "owner", "clusters", "cpu_seconds", "gpu_seconds", "tpu_seconds", "memory_gib_seconds"}}
	for _, item := range got.GetItems() {
		row := []string{got.GetNamespace(), got.GetMonth(), cell(item.GetQueue()), cell(item.GetOwner()), strconv.Itoa(int(item.GetClusters()))}
		for _, seconds := range secondsOf(item) {
			row = append(row, strconv.FormatFloat(seconds, 'f', -1, 64))
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// cell keeps a spreadsheet from running a text that a user wrote as a formula.
func cell(text string) string {
	text = output.Clean(text)
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
