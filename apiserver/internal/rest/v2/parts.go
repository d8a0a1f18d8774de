package v2

import (
	"bufio"
	"cmp"
	"net/http"
	"strconv"
	"sync"
)

// textCopies is about how many times the length of an answer is held while it is made YAML, or indented.
const textCopies = 16

// buffers are those of answers.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 32<<10) }}

// buffered is a response whose bytes are collected: parts are often short, and compression writes a few bytes at a time.
type buffered struct {
	http.ResponseWriter
	out *bufio.Writer
}

// Write implements http.ResponseWriter.
func (w buffered) Write(p []byte) (int, error) { return w.out.Write(p) }

// send writes an answer in one piece: its message and what follows that. A long one is compressed for clients that ask for it.
func (c *call) send(message []byte) error {
	parts, size := [][]byte{message}, len(message)
	if tail := c.document.Tail; tail != nil {
		c.document.Tail = nil
		parts, size = append([][]byte{message[:len(message)-1]}, tail...), size-1
		for _, part := range tail {
			size += len(part)
		}
		c.Header().Set("Content-Length", strconv.Itoa(size))
	}
	if len(parts) == 1 && size < minGzip {
		c.Header().Add("Vary", "Accept-Encoding")
		return c.write(c.ResponseWriter, parts)
	}
	w := buffered{c.ResponseWriter, buffers.Get().(*bufio.Writer)}
	w.out.Reset(c.ResponseWriter)
	defer func() {
		w.out.Reset(nil)
		buffers.Put(w.out)
	}()
	var err error
	c.zip(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { err = c.write(w, parts) })).ServeHTTP(w, c.request)
	return cmp.Or(err, w.out.Flush())
}

func (c *call) write(w http.ResponseWriter, parts [][]byte) error {
	if c.code != 0 {
		w.WriteHeader(c.code)
	}
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}
