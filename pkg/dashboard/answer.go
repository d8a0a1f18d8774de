package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// maxAnswerValues is the number of values in an answer that is passed on as it is.
const maxAnswerValues = 100_000

// Answer implements Client.
func (c *HTTPClient) Answer(ctx context.Context, target string, limit int64) (answer json.RawMessage, err error) {
	path, query, _ := strings.Cut(target, "?")
	err = c.do(ctx, call{
		name: "Answer", method: http.MethodGet, path: "/" + path, query: query, timeout: c.config.ReadTimeout, limit: limit, values: maxAnswerValues,
	}, &answer)
	return answer, err
}
