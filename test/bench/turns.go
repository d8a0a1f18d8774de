package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// call makes one call and checks its answer.
type call func(context.Context) error

// createCall prepares the create of one cluster; its encoding before the call is not measured.
type createCall func(target) (call, error)

const callLimit = 30 * time.Second

// timed makes the call and returns its milliseconds.
func timed(ctx context.Context, c call) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	begin := time.Now()
	err := c(ctx)
	return float64(time.Since(begin)) / float64(time.Millisecond), err
}

// inTurns makes n calls of a and of b, one after the other and each first every other time, after a warm-up, and returns
// the milliseconds of each.
func inTurns(ctx context.Context, n int, a, b call) (ofA, ofB []float64, err error) {
	warmUp := max(3, n/10)
	for i := range warmUp + n {
		for turn := range 2 {
			c, times := a, &ofA
			if (i+turn)%2 == 1 {
				c, times = b, &ofB
			}
			ms, err := timed(ctx, c)
			if err != nil {
				return nil, nil, err
			}
			if i >= warmUp {
				*times = append(*times, ms)
			}
		}
		if i == warmUp {
			runtime.GC() // the first call must not pay for the garbage of the warm-up
		}
	}
	return ofA, ofB, nil
}

const (
	createRounds    = 10 // of each kind, after one for warm-up; many short ones, as single rounds differ by a quarter
	createsOfClient = 10
)

// createsInTurns lets createClients clients create clusters in alternating rounds, and returns the milliseconds of each create.
func (s *session) createsInTurns(ctx context.Context, gateway, direct createCall) (ofGateway, ofDirect []float64, err error) {
	for round := range createRounds + 1 {
		for turn := range 2 {
			create, times := gateway, &ofGateway
			if (round+turn)%2 == 1 {
				create, times = direct, &ofDirect
			}
			ms, err := createRound(ctx, create)
			if err != nil {
				return nil, nil, err
			}
			if round > 0 {
				*times = append(*times, ms...)
			}
			// Each round meets the same number of objects, and pays for its own deletions only.
			if err := s.emptyCreated(ctx); err != nil {
				return nil, nil, err
			}
		}
	}
	return ofGateway, ofDirect, nil
}

func createRound(ctx context.Context, create createCall) ([]float64, error) {
	calls := make([][]call, createClients)
	for c := range createClients {
		for i := range createsOfClient {
			one, err := create(target{"bench-create", fmt.Sprintf("created-%d-%d", c, i)})
			if err != nil {
				return nil, err
			}
			calls[c] = append(calls[c], one)
		}
	}
	var mu sync.Mutex
	var all []float64
	g, ctx := errgroup.WithContext(ctx)
	for _, mine := range calls {
		g.Go(func() error {
			for _, one := range mine {
				ms, err := timed(ctx, one)
				if err != nil {
					return err
				}
				mu.Lock()
				all = append(all, ms)
				mu.Unlock()
			}
			return nil
		})
	}
	return all, g.Wait()
}

// emptyCreated checks that a round has created its objects, deletes them, and waits a moment until the watchers have the deletions.
func (s *session) emptyCreated(ctx context.Context) error {
	var list rayv1.RayClusterList
	if err := s.client.List(ctx, &list, client.InNamespace("bench-create")); err != nil {
		return fmt.Errorf("listing what was created: %w", err)
	}
	if want := createClients * createsOfClient; len(list.Items) != want {
		return fmt.Errorf("a round of creates has left %d RayClusters, want %d", len(list.Items), want)
	}
	if err := s.client.DeleteAllOf(ctx, &rayv1.RayCluster{}, client.InNamespace("bench-create")); err != nil {
		return fmt.Errorf("deleting what was created: %w", err)
	}
	return pause(ctx, 500*time.Millisecond)
}

// writeStatus writes the status of ready clusters.
func (s *session) writeStatus(ctx context.Context, objects []client.Object) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.opts.Parallel)
	for _, obj := range objects {
		g.Go(func() error {
			rc := obj.(*rayv1.RayCluster)
			rc.Status = readyStatus(rc, time.Now())
			if err := s.client.Status().Update(ctx, rc); err != nil {
				return fmt.Errorf("writing status: %w", err)
			}
			return nil
		})
	}
	return g.Wait()
}
