package main

import (
	"bytes"
	"context"
	"net/url"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
)

var paramCodec = scheme.ParameterCodec

// oneSize is a terminal whose size does not change.
type oneSize chan remotecommand.TerminalSize

func (s oneSize) Next() *remotecommand.TerminalSize {
	size, ok := <-s
	if !ok {
		return nil
	}
	return &size
}

// terminal runs a command on a terminal of 33 rows and 99 columns, by the protocol that old clients speak.
func (c *cluster) terminal(t *testing.T, u *url.URL) string {
	t.Helper()
	exec, err := remotecommand.NewSPDYExecutor(c.cfg, "POST", u)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	size := make(oneSize, 1)
	size <- remotecommand.TerminalSize{Width: 99, Height: 33}
	defer close(size)
	var out bytes.Buffer
	if err := exec.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: strings.NewReader(""), Stdout: &out, Tty: true, TerminalSizeQueue: size}); err != nil {
		t.Errorf("command on a terminal: %v", err)
	}
	return out.String()
}
