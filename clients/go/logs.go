package raygate

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// LogOptions are the options for reading a log.
type LogOptions struct {
	// Follow keeps reading until the log has ended.
	Follow bool
	// Tail starts with this number of last lines; nil starts at Offset.
	Tail *int32
	// Offset is the position to start at, in bytes.
	Offset int64
	// Source is the source of a RayJob's log: driver (the default) or submitter.
	Source string
	// Attempt of a RayJob, from 1. 0 means the current one, or the last one.
	Attempt int32
	// UID of a RayJob that was deleted. Empty means the RayJob of the name, or the last one that had it.
	UID string
	// File is a log of a node, such as raylet.out. Of JobLogs it is one in the history; empty means the log of the source. Of NodeLogs empty means
	// raylet.out.
	File string
	// Node is the node of File: the name of its Pod, its address, or its id in Ray. Empty means the head.
	Node string
}

// JobLogs returns the log of an attempt of a RayJob in parts, which may begin and end within a line. If the stream breaks, JobLogs
// opens another one and continues after the last part. While there is no log yet, the error has the code FailedPrecondition and the reason
// JOB_NOT_STARTED.
func (c *Client) JobLogs(ctx context.Context, namespace, name string, o LogOptions) iter.Seq2[[]byte, error] {
	return c.logs(ctx, JobKind.service.Methods().ByName("GetJobLogs"), fields{
		"namespace": namespace, "name": name, "source": o.Source, "attempt": o.Attempt, "uid": o.UID, "file": o.File, "node": o.Node,
	}, o)
}

// NodeLogs returns a log of a node of a running RayCluster, in parts as JobLogs does. Of the options, File, Node, Tail and Offset count.
func (c *Client) NodeLogs(ctx context.Context, namespace, cluster string, o LogOptions) iter.Seq2[[]byte, error] {
	o.Follow = false
	return c.logs(ctx, submissionMethods.ByName("GetNodeLogs"), fields{"namespace": namespace, "cluster": cluster, "file": o.File, "node": o.Node}, o)
}

func (c *Client) logs(ctx context.Context, method protoreflect.MethodDescriptor, about fields, o LogOptions) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		backoff, read := newBackoff(defaultRetries), false
		for tries := 0; ; tries++ {
			progress, err := c.oneLog(ctx, method, about, &o, func(data []byte) bool { return yield(data, nil) })
			if progress {
				tries, read, backoff = 0, true, newBackoff(defaultRetries)
			}
			if progress && o.Offset > 0 {
				o.Tail = nil // the place is known now
			}
			p := ProblemOf(err)
			switch {
			case err == nil, errors.Is(err, errLeft):
				return
			case ctx.Err() != nil, !passes(p, err), read && o.Tail != nil, tries >= defaultRetries, !sleep(ctx, c.clock, max(p.RetryAfter, backoff.Step())):
				yield(nil, errors.Join(ctx.Err(), err))
				return
			}
		}
	}
}

// oneLog hands on the parts of one stream and keeps o.Offset behind the last of them; nil is the end of the log.
func (c *Client) oneLog(ctx context.Context, method protoreflect.MethodDescriptor, about fields, o *LogOptions, yield func([]byte) bool) (progress bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	values := fields{"tail_lines": o.Tail, "offset": o.Offset}
	if o.Follow {
		values["follow"] = true
	}
	maps.Copy(values, about)
	stream, err := openStream(ctx, c.conn, method, values)
	if err != nil {
		return false, err
	}
	for {
		resp := newMessage(method.Output())
		switch err := stream.RecvMsg(resp.Interface()); {
		case errors.Is(err, io.EOF):
			return progress, nil
		case err != nil:
			return progress, err
		}
		part := resp.Interface().(interface {
			GetData() []byte
			GetNextOffset() int64
		})
		progress, o.Offset = true, part.GetNextOffset()
		if !yield(part.GetData()) {
			return progress, errLeft
		}
	}
}
