package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

type options struct {
	pages, tabs, clusters int
	rate                  float64
	period                time.Duration
}

func main() {
	var o options
	flag.IntVar(&o.pages, "pages", 100, "open pages, half of them lists")
	flag.IntVar(&o.tabs, "tabs", 10, "how many of them are tabs of Chromium; the others are HTTP clients that do the same")
	flag.IntVar(&o.clusters, "clusters", 100, "RayClusters that there are")
	flag.Float64Var(&o.rate, "rate", 5, "changes of RayClusters in a second")
	flag.DurationVar(&o.period, "period", 20*time.Second, "how long each measurement takes")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := o.validate(); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(2)
	}
	if err := measure(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

func (o options) validate() error {
	if o.tabs < 2 || o.pages < o.tabs || o.clusters < 1 || o.rate <= 0 || o.period <= 0 {
		return errors.New("there must be at least two tabs, as many pages, one cluster, a rate and a period")
	}
	return nil
}
