package history

import (
	"cmp"
	"context"
	"fmt"
	"io"
)

// NodeLog is the end of a log file of a node of Ray.
type NodeLog struct {
	// Node is Ray's id of the node, IP its address, and Pod the name of its Pod; empty if it is unknown.
	Node string `json:"node"`
	IP   string `json:"ip,omitempty"`
	Pod  string `json:"pod,omitempty"`
	// Head means that the node is the head.
	Head bool `json:"head,omitempty"`
	// File is the name of the file, and Component Ray's word for the part that wrote it.
	File      string `json:"file"`
	Component string `json:"component,omitempty"`
	// Offset is where the text begins among those of the record, and Bytes its size. Put sets them.
	Offset int64 `json:"offset,omitempty"`
	Bytes  int64 `json:"bytes"`
}

// Name is that of the Pod or, if it is unknown, the id of the node.
func (l *NodeLog) Name() string { return cmp.Or(l.Pod, l.Node) }

// Is reports whether the log is that of a node, by the name of the Pod, its address, or the id in Ray; empty means the head.
func (l *NodeLog) Is(node string) bool {
	if node == "" {
		return l.Head
	}
	return node == l.Pod || node == l.IP || node == l.Node
}

const nodesName = "nodes"

// putNodes writes the logs of nodes, and returns their size.
func (s *Store) putNodes(ctx context.Context, r *Record) (n int64, err error) {
	if r.Nodes == nil {
		return 0, nil
	}
	var w *Writer
	r.NodeLogs = nil
	for l, text := range r.Nodes {
		if w == nil {
			if w, err = s.bucket.NewWriter(ctx, r.folder()+nodesName, "text/plain; charset=utf-8"); err != nil {
				return 0, failed("writing logs of nodes", err)
			}
		}
		if _, err := w.Write(text); err != nil {
			w.Discard()
			return 0, failed("writing logs of nodes", err)
		}
		l.Offset, l.Bytes = n, int64(len(text))
		n += l.Bytes
		r.NodeLogs = append(r.NodeLogs, l)
	}
	if w == nil {
		return 0, nil
	}
	return n, failed("writing logs of nodes", w.Close())
}

// NodeLog returns a log of a node, which is one of those in the record, from an offset on. The caller must close it.
func (s *Store) NodeLog(ctx context.Context, k Key, l NodeLog, offset int64) (io.ReadCloser, error) {
	if err := k.valid(); err != nil {
		return nil, err
	}
	if offset < 0 || offset > l.Bytes {
		return nil, fmt.Errorf("reading a log from byte %d of %d", offset, l.Bytes)
	}
	in, err := s.bucket.NewRangeReader(ctx, k.folder()+nodesName, l.Offset+offset, l.Bytes-offset)
	if err != nil {
		return nil, notFound("reading a log", err)
	}
	return in, nil
}
