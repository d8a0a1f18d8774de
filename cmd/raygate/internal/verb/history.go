package verb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

type historyCommand struct {
	output       output.Flags
	since        time.Duration
	filter, uid  string
	attempt, max int32
}

func newHistory(flags *connect.Flags) *cobra.Command {
	h := &historyCommand{}
	cmd := &cobra.Command{
		Use:   "history [TYPE | TYPE NAME | TYPE/NAME]",
		Short: "Show attempts of jobs that have ended, and deleted clusters and services",
		Long: `Show the records that the gateway has of attempts of RayJobs that have ended, and of
deleted RayClusters and RayServices, the newest first.

For a name, -o json or -o yaml prints the newest record as a whole: the object with status
and conditions, its events and Pods. --attempt and --uid choose another one.

The gateway needs a history store. "raygate logs" prints the logs.`,
		Example: `  # Attempts that failed since yesterday
  raygate history rayjobs --since 24h --filter 'result = "FAILED"'

  # All attempts of a job, and all about the first
  raygate history rayjob/train
  raygate history rayjob/train --attempt 1 -o yaml`,
		Args: cobra.MaximumNArgs(2),
		RunE: run(flags, h.run),
	}
	h.output.Form = output.Table
	f := cmd.Flags()
	f.StringVarP(&h.output.Form, "output", "o", output.Table, "output format: table, wide, json, yaml")
	f.BoolVar(&h.output.NoHeaders, "no-headers", false, "omit the headers of tables")
	f.DurationVar(&h.since, "since", 0, "only what ended within this time, such as 24h; 0: all")
	f.StringVar(&h.filter, "filter", "", `filter expression on records, for example 'result = "FAILED" AND queue = "team-a"'`)
	f.Int32Var(&h.max, "limit", 100, "most records to show; 0: all")
	f.Int32Var(&h.attempt, "attempt", 0, "attempt of the record that is printed as a whole (default the last one)")
	f.StringVar(&h.uid, "uid", "", "UID of the object of the record that is printed as a whole (default the last one of the name)")
	return cmd
}

func (h *historyCommand) run(ctx context.Context, s *session, args []string) error {
	req, about, err := h.request(s.namespace, args)
	if err != nil {
		return err
	}
	whole := req.GetName() != "" && h.output.Full()
	if err := h.check(whole); err != nil {
		return err
	}
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	client := raygatev2.NewHistoryServiceClient(s.client.Conn())
	if whole {
		got, err := client.GetHistory(ctx, &raygatev2.GetHistoryRequest{
			Namespace: s.namespace, Kind: req.GetKind(), Name: req.GetName(), Attempt: h.attempt, Uid: h.uid,
		})
		if err != nil {
			s.fail(about, err, ExitFailed)
			return nil
		}
		return printFor(s.out, h.output.Form, convert.Tree(got))
	}
	records, err := h.list(ctx, client, req)
	if err != nil {
		s.fail(about, err, ExitFailed)
		return nil
	}
	return h.print(s, records)
}

// check refuses flags that have no meaning together. whole means that one record is printed as a whole.
func (h *historyCommand) check(whole bool) error {
	switch {
	case !whole && (h.attempt != 0 || h.uid != ""):
		return errors.New("--attempt and --uid choose a record that is printed as a whole: name the object, and use -o json or -o yaml")
	case whole && (h.since != 0 || h.filter != ""):
		return errors.New("a record that is printed as a whole needs no --since and --filter")
	case h.since < 0 || h.max < 0:
		return errors.New("--since and --limit must not be negative")
	}
	return h.output.Check(output.Table, output.Wide, output.JSON, output.YAML)
}

// request returns what to list for the arguments, and its name for messages.
func (h *historyCommand) request(namespace string, args []string) (req *raygatev2.ListHistoryRequest, about string, err error) {
	req = &raygatev2.ListHistoryRequest{Namespace: namespace, Filter: h.filter}
	if h.since > 0 {
		req.Since = timestamppb.New(time.Now().Add(-h.since))
	}
	if len(args) == 0 {
		return req, "history of namespace " + namespace, nil
	}
	refs, err := kind.ParseRefs(args)
	if err != nil {
		return nil, "", err
	}
	if len(refs) != 1 {
		return nil, "", errors.New("name one type, or none for all")
	}
	req.Kind, req.Name = refs[0].Kind.Name, refs[0].Name
	if req.GetName() == "" {
		return req, refs[0].Kind.Plural, nil
	}
	return req, refs[0].String(), nil
}

// list requests pages until there are enough records.
func (h *historyCommand) list(ctx context.Context, client raygatev2.HistoryServiceClient, req *raygatev2.ListHistoryRequest) (all []*raygatev2.HistoryRecord, err error) {
	for {
		req.PageSize = 1000
		if h.max > 0 {
			req.PageSize = min(req.PageSize, h.max-int32(len(all)))
		}
		resp, err := client.ListHistory(ctx, req)
		if err != nil {
			return nil, err
		}
		all = append(all, resp.GetRecords()...)
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" || h.max > 0 && len(all) >= int(h.max) {
			return all, nil
		}
	}
}

func (h *historyCommand) print(s *session, records []*raygatev2.HistoryRecord) error {
	if h.output.Full() {
		trees := make([]any, len(records))
		for i, r := range records {
			trees[i] = convert.Tree(r)
		}
		return printFor(s.out, h.output.Form, map[string]any{"records": trees})
	}
	if len(records) == 0 {
		fmt.Fprintln(s.err, "No records found in namespace "+s.namespace+".")
		return nil
	}
	return h.table(s.out, records, time.Now())
}

func (h *historyCommand) table(w io.Writer, records []*raygatev2.HistoryRecord, now time.Time) error {
	table := &metav1.Table{}
	for i, name := range []string{"Name", "Attempt", "Result", "Ended", "Duration", "Log", "Reason", "UID", "Cluster", "Job ID", "Queue"} {
		table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: "string", Priority: int32(i / 7)})
	}
	for _, r := range records {
		ended, lasted, log := r.GetEndTime().AsTime(), "", "no"
		if r.GetStartTime() != nil {
			lasted = duration.HumanDuration(ended.Sub(r.GetStartTime().AsTime()))
		}
		if r.GetHasLog() {
			log = "yes"
		}
		attempt := ""
		if r.GetAttempt() > 0 {
			attempt = fmt.Sprint(r.GetAttempt())
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{
			strings.ToLower(r.GetKind()) + "/" + r.GetName(), attempt, r.GetResult(), duration.HumanDuration(now.Sub(ended)), lasted, log, r.GetReason(),
			r.GetUid(), r.GetCluster(), r.GetJobId(), r.GetQueue(),
		}})
	}
	return printers.NewTablePrinter(printers.PrintOptions{NoHeaders: h.output.NoHeaders, Wide: h.output.Form == output.Wide}).PrintObj(table, w)
}
