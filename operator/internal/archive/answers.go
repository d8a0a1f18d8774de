package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/history"
)

const (
	// maxAnswer is the longest answer of a dashboard that is kept, and maxAnswers the most bytes of all answers of a record.
	maxAnswer, maxAnswers = 1 << 20, 4 << 20
	// answersPart is the part of the timeout that all answers get.
	answersPart = 6
	// manyRows is the number of rows that the pages of Ray request. If those are too large, someRows rows are kept.
	manyRows, someRows = "&limit=10000", "&limit=200"
)

const (
	// listOf begins the targets of lists with a limit, which is not a part of the target in the record.
	listOf = "?detail=1"
	// serveTarget is the target of the applications of Serve with their deployments and replicas.
	serveTarget = "api/serve/applications/"
)

// targets are the requests of Ray's pages whose answers are kept, the most important ones first: the later ones are lost to a slow
// dashboard, or to a limit. The gateway derives other answers from them. driver is Ray's id of the driver; empty for none.
func targets(driver string) []string {
	list := []string{
		"api/jobs/", "nodes?view=summary", "api/v0/tasks" + listOf, "logical/actors", "api/cluster_status?format=1", "api/v0/tasks/summarize",
		"api/v0/actors/summarize", "api/v0/placement_groups" + listOf, serveTarget, "api/v0/cluster_metadata", "timezone",
	}
	if driver != "" {
		summary := "api/v0/tasks/summarize?filter_keys=job_id&filter_predicates=%3D&filter_values=" + url.QueryEscape(driver)
		list = append(list, summary, summary+"&summary_by=lineage", "api/data/datasets/"+url.PathEscape(driver))
	}
	return list
}

// answers adds what the dashboard answers to its pages to the record, with the reason for each answer that is missing or cut.
func (a *Archive) answers(ctx context.Context, s Subject, r *history.Record, driver string) {
	ctx, cancel := context.WithTimeout(ctx, a.config.Timeout/answersPart)
	defer cancel()
	all, left := history.Answers{}, int64(maxAnswers)
	for i, target := range targets(driver) {
		answer, err := a.answer(ctx, *s.Site, target, min(left, maxAnswer))
		switch {
		case i == 0 && errors.Is(err, dashboard.ErrNotFound):
			return // nothing that has pages
		case i == 0 && errors.Is(err, dashboard.ErrUnavailable):
			r.Lost = append(r.Lost, "the pages of Ray's dashboard are missing: "+err.Error())
			return
		case err != nil:
			answer.Missing = err.Error()
		}
		left -= int64(len(answer.Body))
		all[target] = answer
	}
	r.Answers = all
}

// secrets are those that command lines of Ray's processes have.
var secrets = regexp.MustCompile(`(redis[-_]password[= ])[^\s"\\]+`)

// answer reads an answer, or fewer rows of a list that is too large.
func (a *Archive) answer(ctx context.Context, site dashboards.Site, target string, limit int64) (answer history.Answer, err error) {
	read := func(rows string) error {
		return a.config.Dashboards.Call(ctx, site, func(c dashboard.Client) (err error) {
			answer.Body, err = c.Answer(ctx, target+rows, limit)
			return err
		})
	}
	if !strings.HasSuffix(target, listOf) {
		err = read("")
	} else if err = read(manyRows); errors.Is(err, dashboard.ErrTooLarge) {
		answer.Missing = fmt.Sprintf("there are more rows than fit into %d bytes: these are the first of them", limit)
		err = read(someRows)
	}
	if err != nil {
		return history.Answer{}, err
	}
	answer.Body = json.RawMessage(secrets.ReplaceAll(answer.Body, []byte("$1***")))
	return answer, nil
}
