package raytest

import "context"

// Background runs one function of an operator, such as a poller, beside a test. Its zero value runs none.
type Background struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// Start stops the function that runs, if any, and runs another one until Stop.
func (b *Background) Start(run func(context.Context) error) {
	b.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = run(ctx)
	}()
	b.cancel, b.ended = cancel, ended
}

// Stop ends the function and waits for its end. It does nothing if none runs.
func (b *Background) Stop() {
	if b.cancel != nil {
		b.cancel()
		<-b.ended
		b.cancel = nil
	}
}
