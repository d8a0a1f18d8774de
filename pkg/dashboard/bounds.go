package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// Limits of the content of an answer, besides its size: a user who may create a cluster controls every byte that its dashboard returns.
const (
	// maxJobs is the number of jobs in a list, and maxJobValues the number of values in one job: a value of two bytes takes a hundred when
	// decoded.
	maxJobs      = 20000
	maxJobValues = 20000
	// maxServeValues is the number of values in the state of Ray Serve.
	maxServeValues = 500_000
	// heldCopies is the number of copies of an answer in memory at once: as received, decoded, and in the form that the caller sends.
	heldCopies = 3
)

// heldBody reads an answer that will be held: no more than its limit, and no more than there is room for.
type heldBody struct {
	ctx  context.Context // that of the call: Read has none
	body io.Reader       // of its limit at most
	room func(ctx context.Context, n int64) error
	// err is why the body cannot be read further, or nil at its regular end.
	err error
}

// Read implements io.Reader.
func (h *heldBody) Read(p []byte) (int, error) {
	n, err := h.body.Read(p)
	if h.room != nil && n > 0 {
		if full := h.room(h.ctx, heldCopies*int64(n)); full != nil {
			err = full
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		h.err = err
	}
	return n, err
}

// isTooLarge reports whether an answer has ended at its limit.
func isTooLarge(err error) bool {
	_, atLimit := errors.AsType[*http.MaxBytesError](err)
	return atLimit || errors.Is(err, ErrTooLarge)
}

// valuesIn returns about how many values a JSON text has: each but the first follows a bracket, a brace or a comma that is in no string.
func valuesIn(text []byte) int {
	n, inString := 1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++
		case !inString && (c == '[' || c == '{' || c == ','):
			n++
		}
	}
	return n
}

// listJobs decodes a list one job at a time, so that at most one job is in memory twice. Entries that are not jobs, or have too many
// values, are left out, so that they do not hide the others.
func listJobs(body *heldBody, maxJob int64) (jobs []Job, err error) {
	one := &oneEntry{body: body, max: maxJob}
	decoder := json.NewDecoder(one)
	one.decoder = decoder
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('[') {
		if err == nil {
			err = errNoList
		}
		return nil, err
	}
	entries := 0
	for jobs = []Job{}; decoder.More(); entries++ {
		var entry json.RawMessage
		if err := decoder.Decode(&entry); err != nil {
			return nil, err
		}
		if entries >= maxJobs {
			return nil, ErrTooLarge
		}
		var job Job
		if valuesIn(entry) <= maxJobValues && json.Unmarshal(entry, &job) == nil {
			jobs = append(jobs, job)
		}
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	if len(jobs) == 0 && entries > 0 {
		return nil, errNoList
	}
	return jobs, nil
}

// oneEntry limits the bytes that a decoder has read and not yet decoded, which are one entry of a list.
type oneEntry struct {
	body    io.Reader
	decoder *json.Decoder
	read    int64
	max     int64
}

// Read implements io.Reader.
func (o *oneEntry) Read(p []byte) (int, error) {
	if o.read-o.decoder.InputOffset() > o.max {
		return 0, ErrTooLarge
	}
	n, err := o.body.Read(p)
	o.read += int64(n)
	return n, err
}
