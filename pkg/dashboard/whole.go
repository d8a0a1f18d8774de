package dashboard

import (
	"context"
	"io"
)

// AnswerLimit is the maximum size of a log that JobLogs returns, in bytes. Of a longer log it returns the end, after a note.
const AnswerLimit = 16 << 20

// CopyLog copies the whole log of a job that has ended to w. It uses the answer of JobLogs if that has all of the log, and otherwise
// the stream, which Ray ends seconds after its last byte.
func CopyLog(ctx context.Context, c Client, id string, w io.Writer, o FollowOptions) error {
	log, err := c.JobLogs(ctx, id)
	if err == nil {
		defer func() { _ = log.Close() }()
		if log.AtMost >= 0 && log.AtMost < AnswerLimit {
			_, err = io.Copy(w, log)
			return err
		}
	}
	_, err = Follow(ctx, c, id, w, o)
	return err
}
