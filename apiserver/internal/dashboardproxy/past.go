package dashboardproxy

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/pkg/history"
)

// Past answers requests to dashboards of past sessions from the history.
type Past struct {
	// Session returns that of a record. It authorizes the context's caller, who needs the rights for the record and its log. The errors
	// are those of the status table.
	Session func(ctx context.Context, k history.Key) (*Session, error)
	// Files are Ray's own pages: the folder client/build of its dashboard. Nil means that there are none.
	Files fs.FS
}

// KeyOf returns the key of the record of an object that a request names, whose attempt and UID may be missing.
func KeyOf(kind string, object types.NamespacedName, query url.Values) (k history.Key, err error) {
	k = history.Key{Kind: kind, Namespace: object.Namespace, Name: object.Name, UID: query.Get("uid")}
	if text := query.Get("attempt"); text != "" {
		attempt, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return k, rpcstatus.BadField("attempt", "%q is not a number", rpcstatus.Quoted(text))
		}
		k.Attempt = int(attempt)
	}
	return k, nil
}

// maxPastLog is the maximum size of the end of a log that is sent to a page, in bytes.
const maxPastLog = 8 << 20

var errNoFiles = rpcstatus.Precondition("NO_PAGES", "this gateway has no pages of Ray's dashboard: an administrator can set --dashboard-pages")

// Serve answers a request to path of the dashboard of a past session, as Ray does. path begins with a slash. An error means that nothing has
// been answered.
func (p *Past) Serve(w http.ResponseWriter, r *http.Request, k history.Key, path string) error {
	if err := onlyReads(w, r); err != nil {
		return err
	}
	path, err := url.PathUnescape(strings.TrimPrefix(path, "/"))
	if err != nil {
		return errBadPath
	}
	s, err := p.Session(r.Context(), k)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", "sandbox") // of what a program of a user wrote
	query := r.URL.Query()
	query.Del("uid") // those of the record
	query.Del("attempt")
	if path == logsPath+"/file" && s.HasLog && (query.Get("filename") == s.driverLog() || query.Get("submission_id") == s.JobID) {
		return s.sendLog(w, r)
	}
	if l, ok := s.nodeLog(query); ok && path == logsPath+"/file" {
		return s.sendNodeLog(w, r, l)
	}
	found := s.answer(path, query)
	if found.Body == nil {
		return rpcstatus.NotFound("the history has no answer to %s: %s", rpcstatus.Quoted(path), cmp.Or(found.Missing, "it does not keep it"))
	}
	if found.Missing != "" {
		w.Header().Set("Warning", fmt.Sprintf("299 - %q", found.Missing))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(found.Body)
	return nil
}

// sendLog sends the end of the log of the driver.
func (s *Session) sendLog(w http.ResponseWriter, r *http.Request) error {
	offset := max(0, s.LogBytes-maxPastLog)
	in, err := s.Log(r.Context(), offset)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if offset > 0 {
		_, _ = fmt.Fprintf(w, "[raygate: the first %d bytes of the log are left out here]\n", offset)
	}
	_, _ = io.CopyN(w, in, maxPastLog)
	return nil
}

// sendNodeLog sends a log of a node.
func (s *Session) sendNodeLog(w http.ResponseWriter, r *http.Request, l history.NodeLog) error {
	in, err := s.NodeLog(r.Context(), l)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.Copy(w, in)
	return nil
}

// ServePage answers a request of a browser that shows the dashboard as its own page: with a file of Ray's pages, or as Serve does.
func (p *Past) ServePage(w http.ResponseWriter, r *http.Request, page Page) error {
	if page.Path != "/" && !IsFile(page.Path) {
		return p.Serve(w, r, *page.Past, page.Path)
	}
	if page.Path == "/" { // a file is for everybody
		if _, err := p.Session(r.Context(), *page.Past); err != nil {
			return err
		}
	}
	if p.Files == nil {
		return errNoFiles
	}
	w.Header().Set("Content-Security-Policy", pagePolicy)
	if page.Path != "/" {
		return p.serveFile(w, r, strings.TrimPrefix(page.Path, "/"))
	}
	text, err := fs.ReadFile(p.Files, "index.html")
	if err != nil {
		return fmt.Errorf("reading a page: %w", err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	begin := min(len(text), len(doctype))
	_, _ = w.Write(append(page.withScript(text[:begin]), text[begin:]...))
	return nil
}

func (p *Past) serveFile(w http.ResponseWriter, r *http.Request, name string) error {
	if info, err := fs.Stat(p.Files, name); err != nil || !info.Mode().IsRegular() {
		return rpcstatus.PathNotFound("the pages of Ray's dashboard have no such file")
	}
	http.ServeFileFS(w, r, p.Files, name)
	return nil
}

// Checked returns the key of one record, for pages of the context's caller, who may read its session.
func (p *Past) Checked(ctx context.Context, k history.Key) (history.Key, error) {
	if p.Files == nil {
		return k, errNoFiles
	}
	s, err := p.Session(ctx, k)
	if err != nil {
		return k, err
	}
	if !s.HasDashboard {
		return k, rpcstatus.Precondition("NO_DASHBOARD", "the record of %s %s has nothing of Ray's dashboard: %s", s.Kind, s.Name,
			cmp.Or(strings.Join(s.Lost, "; "), "it was away, or not asked"))
	}
	return s.Key, nil
}
