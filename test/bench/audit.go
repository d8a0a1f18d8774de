package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// auditPolicy logs who sent which request, and its answer, but no body. A request is logged when its answer is complete; a watch when it begins, too.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// writeAuditPolicy writes the policy into the folder of the session and returns its path.
func (s *session) writeAuditPolicy() (string, error) {
	path := filepath.Join(s.dir, "audit-policy.yaml")
	if err := os.WriteFile(path, []byte(auditPolicy), 0o644); err != nil {
		return "", fmt.Errorf("writing audit policy: %w", err)
	}
	return path, nil
}

// auditEvent is the part of an event of audit.k8s.io/v1 that is counted.
type auditEvent struct {
	Stage, Verb, UserAgent string
	ObjectRef              *struct{ Resource, Subresource, Namespace, APIGroup string }
	ResponseStatus         struct{ Code int }
}

// audited is one kind of request of one client, and one kind of answer.
type audited struct {
	client string
	request
	// code is the status of an answer that is an error, and 0 for all others.
	code int
}

// auditLog reads what the API server adds to its audit log.
type auditLog struct{ file *os.File }

// openAuditLog opens the log of a session whose scenario is audited.
func (s *session) openAuditLog() (*auditLog, error) {
	file, err := os.Open(filepath.Join(filepath.Dir(s.kubeconfig), "logs", "audit.log"))
	if err != nil {
		return nil, fmt.Errorf("opening audit log: %w", err)
	}
	return &auditLog{file}, nil
}

func (l *auditLog) close() { _ = l.file.Close() }

// skip leaves out all that is in the log so far.
func (l *auditLog) skip() error {
	_, err := l.file.Seek(0, io.SeekEnd)
	return err
}

// count returns how often each request was logged since the last call of skip or count: all requests in the namespace, and those of the operator
// that are in none.
func (l *auditLog) count(namespace string) (map[audited]int, error) {
	counts := map[audited]int{}
	reader := bufio.NewReader(l.file)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			// The line is empty, unless the API server is writing it: nothing that is measured is still going on then.
			return counts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading audit log: %w", err)
		}
		var e auditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("decoding audit log: %w", err)
		}
		if q, ok := e.classify(namespace); ok {
			counts[q]++
		}
	}
}

// classify returns what the event counts as; ok is false for what is not counted.
func (e *auditEvent) classify(namespace string) (q audited, ok bool) {
	q = audited{client: clientOf(e.UserAgent), request: request{verb: e.Verb}}
	if e.ObjectRef == nil {
		return q, false // discovery, health
	}
	inNamespace := e.ObjectRef.Namespace == namespace || (e.ObjectRef.Namespace == "" && q.client == operatorClient)
	// A watch is counted at its beginning, since it may outlive the measurement; one that was refused only ends.
	failed := e.ResponseStatus.Code >= 400
	begun := e.Stage == "ResponseStarted"
	if !inNamespace || (e.Verb == "watch" && !failed) != begun {
		return q, false
	}
	q.resource = e.ObjectRef.Resource
	if e.ObjectRef.APIGroup != "" {
		q.resource += "." + e.ObjectRef.APIGroup
	}
	if e.ObjectRef.Subresource != "" {
		q.resource += "/" + e.ObjectRef.Subresource
	}
	if failed {
		q.code = e.ResponseStatus.Code
	}
	return q, true
}

const (
	// operatorClient is the operator in its user agent.
	operatorClient = "raygate-operator"
	// dashboardClient is the operator when it asks Ray, which the API server only passes on.
	dashboardClient = "raygate"
)

// clientOf is the name of a program in its user agent. The parts of the controller manager are one program.
func clientOf(userAgent string) string {
	name, _, _ := strings.Cut(userAgent, "/")
	if name == "" {
		return "unknown"
	}
	return name
}
