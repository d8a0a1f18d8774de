package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// requestRate is how many requests are sent in a second, whether earlier ones are answered or not.
	requestRate = 100
	// requestLimit is the timeout of a request; a request without an answer by then is lost. It is no measure of speed.
	requestLimit = time.Minute
)

// load sends requests to the application shop of RayServices, through the Service proxy of the API server.
type load struct {
	client    *http.Client
	host      string
	namespace string
	logf      func(format string, args ...any)
}

func newLoad(config *rest.Config, namespace string, logf func(string, ...any)) (*load, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making client: %w", err)
	}
	client.Timeout = requestLimit
	return &load{client: client, host: config.Host, namespace: namespace, logf: logf}, nil
}

// goal is the target of a request: the name of a Service, and the common label of its requests.
type goal struct{ service, label string }

// tally counts the outcomes of requests.
type tally struct{ sent, lost int }

// during sends requests at the constant rate until do has ended and at least atLeast requests were sent. It returns their outcomes by
// label.
func (l *load) during(ctx context.Context, atLeast int, pick func() goal, do func(context.Context) error) (map[string]tally, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- do(ctx) }()

	var all sync.WaitGroup
	var mu sync.Mutex
	tallies := map[string]tally{}
	begin := time.Now()
	tick := time.NewTicker(time.Second / requestRate)
	defer tick.Stop()
	var err error
	for sent, done := 0, false; err == nil && (!done || sent < atLeast); {
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case err = <-ended:
			done = true
		case <-tick.C:
			sent++
			all.Go(func() {
				at, t := time.Since(begin), pick()
				failure := l.ask(ctx, t.service)
				mu.Lock()
				defer mu.Unlock()
				count := tallies[t.label]
				count.sent++
				if failure != nil {
					count.lost++
					if count.lost <= 5 {
						l.logf("lost after %.2f s, %s (%s): %v", at.Seconds(), t.service, t.label, failure)
					}
				}
				tallies[t.label] = count
			})
		}
	}
	all.Wait()
	return tallies, err
}

// ask sends one request, and returns nil if the application has answered.
func (l *load) ask(ctx context.Context, service string) error {
	url := fmt.Sprintf("%s/api/v1/namespaces/%s/services/%s:8000/proxy/shop", l.host, l.namespace, service)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	return answered(resp.StatusCode, data)
}

// answered returns an error if an answer is not that of the application.
func answered(code int, data []byte) error {
	var answer struct{ Application string }
	if code != http.StatusOK || json.Unmarshal(data, &answer) != nil || answer.Application != shop {
		return fmt.Errorf("HTTP %d: %.200s", code, data)
	}
	return nil
}

// total sums up tallies.
func total(tallies map[string]tally) tally {
	var sum tally
	for _, t := range tallies {
		sum.sent += t.sent
		sum.lost += t.lost
	}
	return sum
}
