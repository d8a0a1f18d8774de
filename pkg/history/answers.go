package history

import (
	"context"
	"encoding/json"
	"fmt"
)

// Answers are what the dashboard of Ray answered to its pages, by the target of the request: the path without its first slash, with the
// query.
type Answers map[string]Answer

// Answer is one answer of a dashboard.
type Answer struct {
	// Body is JSON; nil if it is missing.
	Body json.RawMessage `json:"body,omitempty"`
	// Missing is why there is no body.
	Missing string `json:"missing,omitempty"`
}

const answersName = "dashboard.json"

// putAnswers writes the answers of a record, if it has any, and returns their size.
func (s *Store) putAnswers(ctx context.Context, r *Record) (int64, error) {
	if len(r.Answers) == 0 {
		return 0, nil
	}
	text, err := json.Marshal(r.Answers)
	if err != nil {
		return 0, fmt.Errorf("encoding answers: %w", err)
	}
	r.HasDashboard = true
	// A process that died before it wrote the record may have left some.
	return int64(len(text)), failed("writing answers", s.bucket.WriteAll(ctx, r.folder()+answersName, text, jsonOnce(false)))
}

// Answers returns the answers of a record.
func (s *Store) Answers(ctx context.Context, k Key) (Answers, error) {
	if err := k.valid(); err != nil {
		return nil, err
	}
	var a Answers
	return a, s.read(ctx, k.folder()+answersName, &a)
}
