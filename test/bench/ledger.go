package main

import (
	"context"
	"fmt"
)

// ledgerObjects is how many objects of each kind the scenario ledger makes.
const ledgerObjects = 20

// watchesRenewed is how many watches of all objects of a kind may begin anew meanwhile, per object.
const watchesRenewed = 0.1

// account is one kind of object whose requests are counted from its creation to the end of its deletion.
type account struct {
	life
	// limit is the aim for the requests of the operator to the API server, those to Ray left out.
	limit     float64
	necessary []necessary
}

// necessary is a request that the operator cannot do without, how often per object, and why.
type necessary struct {
	request
	n      float64
	reason string
}

// ledger counts the requests per object of each kind, of all clients, from the audit log of the API server.
func ledger(ctx context.Context, s *session) error {
	log, err := s.openAuditLog()
	if err != nil {
		return err
	}
	defer log.close()
	if _, err := s.startOperator(ctx, s.kubeconfig, "--use-kubernetes-proxy"); err != nil {
		return err
	}
	const first = "ledger-warm-up"
	if err := s.namespace(ctx, first); err != nil {
		return err
	}
	if err := s.warmUp(ctx, first); err != nil {
		return err
	}
	if err := s.clear(ctx, first); err != nil {
		return err
	}
	for i, a := range accounts() {
		namespace := fmt.Sprintf("ledger-%d", i)
		if err := s.namespace(ctx, namespace); err != nil {
			return err
		}
		if err := pause(ctx, eventsSettle); err != nil {
			return err
		}
		if err := log.skip(); err != nil {
			return fmt.Errorf("reading audit log: %w", err)
		}
		if err := s.liveAndDie(ctx, namespace, a.life); err != nil {
			return fmt.Errorf("%s: %w", a.what, err)
		}
		counts, err := log.count(namespace)
		if err != nil {
			return err
		}
		s.reportAccount(a, counts)
	}
	return nil
}

// liveAndDie lets objects become done and deletes them. The operator has time for events after both.
func (s *session) liveAndDie(ctx context.Context, namespace string, l life) error {
	if _, err := s.live(ctx, namespace, l, ledgerObjects); err != nil {
		return err
	}
	s.logf("%s: %d are done", l.what, ledgerObjects)
	if err := pause(ctx, eventsSettle); err != nil {
		return err
	}
	if err := s.die(ctx, namespace, l); err != nil {
		return err
	}
	return pause(ctx, eventsSettle)
}

// reportAccount adds the rows of one kind: the sums, what must not be, and each request next to what is necessary.
func (s *session) reportAccount(a account, counts map[audited]int) {
	per := func(n int) []float64 { return []float64{float64(n) / ledgerObjects} }
	var t requestSums
	for q, n := range counts {
		t.add(q, n)
	}
	required := 0.0
	for _, need := range a.necessary {
		required += need.n
	}
	s.add(a.what+": requests of the operator to the API server; direct is necessary", "", per(t.operator), []float64{required}, atMost(a.limit))
	s.add("  requests of the operator to Ray", "", per(t.ray), nil, nil)
	s.add("  requests of all clients but the benchmark", "", per(t.all), nil, nil)
	s.add("  GETs of the operator that answer 404", "", per(t.notFound), nil, atMost(0))
	s.add("  conflicts of the operator", "", per(t.conflicts), nil, atMost(0))
	s.add("  LISTs and WATCHes of the operator", "", per(t.lists), nil, atMost(watchesRenewed))
	s.reportRequests(a, counts)
}

// requestSums sums up what one kind costs.
type requestSums struct{ operator, ray, all, notFound, conflicts, lists int }

func (t *requestSums) add(q audited, n int) {
	if q.client == benchClient {
		return
	}
	t.all += n
	if q.client == dashboardClient {
		t.ray += n
	}
	if q.client != operatorClient {
		return
	}
	t.operator += n
	switch {
	case q.code == 404 && q.verb == "get":
		t.notFound += n
	case q.code == 409 && q.verb != "create":
		t.conflicts += n
	case q.verb == "list" || q.verb == "watch":
		t.lists += n
	}
}

// reportRequests adds a row for each request of the operator, the necessary ones first, and then for those of other clients.
func (s *session) reportRequests(a account, counts map[audited]int) {
	left := map[audited]int{}
	for q, n := range counts {
		if q.client != benchClient {
			left[q] = n
		}
	}
	per := func(n int) []float64 { return []float64{float64(n) / ledgerObjects} }
	for _, need := range a.necessary {
		q := audited{client: operatorClient, request: need.request}
		s.add("  "+q.text(), "", per(left[q]), []float64{need.n}, nil)
		s.report.Rows[len(s.report.Rows)-1].Note = need.reason
		delete(left, q)
	}
	for _, q := range sortedAudited(left) {
		s.add("  "+q.text(), "", per(left[q]), nil, nil)
	}
}

func (q audited) text() string {
	text := q.client + ": " + q.verb + " " + q.resource
	if q.code != 0 {
		text += fmt.Sprintf(" that answers %d", q.code)
	}
	return text
}
