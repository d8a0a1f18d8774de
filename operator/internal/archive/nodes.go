package archive

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/history"
)

const (
	// NodeLog is the most bytes that are kept of the end of a log of a node.
	NodeLog = 256 << 10
	// nodeLines is how many of its last lines are requested.
	nodeLines = 10_000
	// maxNodes is how many nodes have logs in a record, and maxFiles how many logs of each are read.
	maxNodes, maxFiles = 50, 200
	// nodesPart is the part of the timeout for the logs of all nodes, and callPart the part of that for each call.
	nodesPart, callPart = 4, 6
	// maxFailures is how many logs of a node may fail until its others are not tried.
	maxFailures = 2

	// beginning is the first line of a log whose beginning is missing.
	beginning = "[raygate: the beginning of the log was cut here]\n"
)

// nodeReader reads the logs of the nodes of one cluster.
type nodeReader struct {
	*Archive
	subject Subject
	record  *history.Record
	// job is Ray's id of the driver; empty if Ray does not know the job.
	job string
	// left is how many more bytes may be kept.
	left int64
}

// all yields the logs of the nodes that run, the head first. What is missing is noted in the record. A node that does not answer costs
// only its own logs, unless the time for all of them ends.
func (n *nodeReader) all(ctx context.Context) iter.Seq2[history.NodeLog, []byte] {
	return func(yield func(history.NodeLog, []byte) bool) {
		ctx, cancel := context.WithTimeout(ctx, n.config.Timeout/nodesPart)
		defer cancel()
		nodes, err := n.list(ctx)
		if err != nil {
			n.lose("the logs of nodes are missing: %v", err)
			return
		}
		if len(nodes) > maxNodes {
			n.lose("the logs of %d nodes are missing: those of %d are kept", len(nodes)-maxNodes, maxNodes)
			nodes = nodes[:maxNodes]
		}
		for _, node := range nodes {
			if !n.node(ctx, node, yield) {
				return
			}
		}
	}
}

func (n *nodeReader) lose(format string, args ...any) {
	n.record.Lost = append(n.record.Lost, fmt.Sprintf(format, args...))
}

// list returns the nodes that run, the head first.
func (n *nodeReader) list(ctx context.Context) (nodes []history.NodeLog, err error) {
	var found []dashboard.Node
	if err := n.call(ctx, func(ctx context.Context, c dashboard.Client) (err error) {
		found, err = dashboard.Nodes(ctx, c, maxAnswer)
		return err
	}); err != nil {
		return nil, err
	}
	pods := podNames(n.record)
	for _, node := range found {
		l := history.NodeLog{Node: node.ID, IP: node.IP, Pod: pods[node.IP], Head: node.Head}
		if l.Head {
			nodes = slices.Insert(nodes, 0, l)
		} else {
			nodes = append(nodes, l)
		}
	}
	return nodes, nil
}

// podNames returns the names of the Pods in a record by their addresses.
func podNames(r *history.Record) map[string]string {
	names := map[string]string{}
	for _, text := range r.Pods {
		var p corev1.Pod
		if json.Unmarshal(text, &p) == nil && p.Status.PodIP != "" {
			names[p.Status.PodIP] = p.Name
		}
	}
	return names
}

// call makes a call, which has less time than all of them.
func (n *nodeReader) call(ctx context.Context, do func(context.Context, dashboard.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, n.config.Timeout/nodesPart/callPart)
	defer cancel()
	return n.config.Dashboards.Call(ctx, *n.subject.Site, func(c dashboard.Client) error { return do(ctx, c) })
}

// node yields the logs of a node; false once nothing more is wanted.
func (n *nodeReader) node(ctx context.Context, node history.NodeLog, yield func(history.NodeLog, []byte) bool) bool {
	var found map[string][]string
	if err := n.call(ctx, func(ctx context.Context, c dashboard.Client) (err error) {
		found, err = dashboard.NodeLogs(ctx, c, node.Node, maxAnswer)
		return err
	}); err != nil {
		n.lose("the logs of node %s are missing: %v", node.Name(), err)
		return true
	}
	failures := 0
	for i, file := range n.wanted(found) {
		node.File, node.Component = file.name, file.component
		switch {
		case i == maxFiles:
			n.lose("some logs of node %s are missing: there are more than %d", node.Name(), maxFiles)
			return true
		case n.left < NodeLog:
			n.lose("some logs of nodes are missing, from %s of node %s on: there is no room for more", file.name, node.Name())
			return false
		}
		text, err := n.text(ctx, node, file.marked)
		if err != nil {
			failures++
			n.lose("the log %s of node %s is missing or incomplete: %v", file.name, node.Name(), err)
		}
		n.left -= int64(len(text))
		if len(text) > 0 && !yield(node, text) {
			return false
		}
		if failures == maxFailures {
			return true
		}
	}
	return true
}

// nodeFile is a log of a node.
type nodeFile struct {
	name, component string
	// marked means that lines in the log have the id of the job, since the name has not: the worker started before it got a job.
	marked bool
}

// noJob is the id in the name of the log of such a worker.
const noJob = "ffffffff"

var (
	// always are the logs that are kept of each job, and ifFailed those of one that did not succeed, with the id of the worker's job.
	always   = regexp.MustCompile(`^(?:raylet|gcs_server|dashboard|dashboard_agent|runtime_env_agent|monitor)\.(?:out|err|log)$`)
	ifFailed = regexp.MustCompile(`^(?:worker-[0-9a-f]+-([0-9a-f]+)-\d+\.(?:out|err)|runtime_env_setup-[0-9a-f]+\.log)$`)
)

// wanted returns those of a node's logs that are kept, the workers' last.
func (n *nodeReader) wanted(found map[string][]string) []nodeFile {
	var files, more []nodeFile
	for component, names := range found {
		for _, name := range names {
			m := ifFailed.FindStringSubmatch(name)
			switch {
			case always.MatchString(name):
				files = append(files, nodeFile{name: name, component: component})
			case m != nil && n.subject.Result != string(rayv1.JobStatusSucceeded) && (m[1] == "" || m[1] == n.job || m[1] == noJob && n.job != ""):
				more = append(more, nodeFile{name, component, m[1] == noJob})
			}
		}
	}
	for _, list := range [][]nodeFile{files, more} {
		slices.SortFunc(list, func(a, b nodeFile) int { return cmp.Compare(a.name, b.name) })
	}
	return append(files, more...)
}

// text returns the end of a log, with a line where something is missing. Nothing is kept of an empty log, and of a marked one that belongs to
// another job or to none. An error comes with what was read before it.
func (n *nodeReader) text(ctx context.Context, node history.NodeLog, marked bool) (text []byte, err error) {
	var cut int64
	err = n.call(ctx, func(ctx context.Context, c dashboard.Client) error {
		in, err := c.NodeLog(ctx, node.Node, node.File, nodeLines+1)
		if err != nil {
			return err
		}
		defer func() { _ = in.Close() }()
		text, cut, err = history.End(in, NodeLog)
		return err
	})
	if len(text) == 0 {
		return nil, err
	}
	lines := text[:len(text)-1] // without the end of the last one
	if marked && cut == 0 && !bytes.Contains(text, []byte(":job_id:"+n.job)) {
		return nil, err
	}
	if cut > 0 || bytes.Count(lines, []byte{'\n'}) >= nodeLines {
		text = append([]byte(beginning), text[bytes.IndexByte(lines, '\n')+1:]...)
	}
	text = secrets.ReplaceAll(text, []byte("$1***"))
	if err != nil {
		text = fmt.Appendf(text, "\n[raygate: the rest of the log is missing: %v]\n", err)
	}
	return text, err
}
