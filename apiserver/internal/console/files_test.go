package console

import (
	"compress/gzip"
	"io"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/raygate/raygate/apiserver/internal/authn"
)

func TestHeaders(t *testing.T) {
	c := newConsole(t, authn.Passthrough, nil)
	for target, wantType := range map[string]string{
		"/ui/": "text/html; charset=utf-8", "/ui/main.js": "text/javascript; charset=utf-8", "/ui/app.css": "text/css; charset=utf-8", "/ui/icon.svg": "image/svg+xml",
		"/ui/vendor/LICENSE-htm.txt": "text/plain; charset=utf-8", "/ui/session": "application/json", "/ui/lib/none.js": "text/plain; charset=utf-8",
	} {
		h := call(c, "GET", target, "", nil).Result().Header
		for name, want := range map[string]string{
			"Content-Type": wantType, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Content-Security-Policy": policy,
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", target, name, got, want)
			}
		}
	}
	for _, unsafe := range []string{"unsafe-inline", "unsafe-eval", "http:", "https:", "*"} {
		if strings.Contains(policy, unsafe) {
			t.Errorf("the policy has %s", unsafe)
		}
	}
}

func TestETag(t *testing.T) {
	c := newConsole(t, authn.Passthrough, nil)
	for _, target := range []string{"/ui/", "/ui/main.js", "/ui/namespaces/a/clusters/b"} {
		w := call(c, "GET", target, "", nil)
		etag := w.Header().Get("ETag")
		if w.Code != 200 || etag == "" || w.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: HTTP %d, ETag %q, Cache-Control %q", target, w.Code, etag, w.Header().Get("Cache-Control"))
		}
		zipped := call(c, "GET", target, "", map[string]string{"Accept-Encoding": "gzip"})
		if w.Body.Len() > 2048 && zipped.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s is not compressed", target)
		}
		if zipped.Header().Get("Content-Encoding") == "gzip" {
			plain, err := gzip.NewReader(zipped.Body)
			if err != nil {
				t.Fatal(err)
			}
			if data, _ := io.ReadAll(plain); string(data) != w.Body.String() {
				t.Errorf("%s is another file when it is compressed", target)
			}
		}
		for _, sent := range []string{etag, zipped.Header().Get("ETag")} {
			if again := call(c, "GET", target, "", map[string]string{"If-None-Match": sent, "Accept-Encoding": "gzip"}); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
				t.Errorf("%s with its ETag %s: HTTP %d", target, sent, again.Code)
			}
		}
	}
}

func TestDeepLinks(t *testing.T) {
	c := newConsole(t, authn.Passthrough, nil)
	page := call(c, "GET", "/ui/", "", nil).Body.String()
	for target, wantCode := range map[string]int{
		"/ui/clusters?namespace=a&filter=b": 200, "/ui/login?next=%2Fui%2Fjobs": 200, "/ui/namespaces/a/clusters/b?tab=yaml": 200, "/ui/namespaces/a/jobs/name.with.js": 200,
		"/ui/namespaces/a/services/b/edit": 200, "/ui/create?kind=jobs": 200, "/ui/nothing": 200,
		"/ui/main.css": 404, "/ui/lib": 404, "/ui/lib/": 404, "/ui/lib/none.js": 404, "/ui/pages/../../x.js": 404, "/ui/vendor/x/y": 404, "/ui/console.go": 404, "/ui/web/main.js": 200,
		"/ui/api/none": 404, "/ui/api/": 404,
	} {
		w := call(c, "GET", target, "", nil)
		for w.Code == http.StatusMovedPermanently || w.Code == http.StatusTemporaryRedirect || w.Code == http.StatusPermanentRedirect { // a path that is not clean
			w = call(c, "GET", w.Header().Get("Location"), "", nil)
			if w.Code == http.StatusNotFound {
				break
			}
		}
		if w.Code != wantCode {
			t.Errorf("%s: HTTP %d, want %d", target, w.Code, wantCode)
		}
		if wantCode == 200 && w.Body.String() != page {
			t.Errorf("%s is not the page", target)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		if w := call(c, method, "/ui/clusters", "", nil); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: HTTP %d", method, w.Code)
		}
	}
}

var (
	imported = regexp.MustCompile(`(?:from|import)\s*\(?\s*'([^']+)'`)
	linked   = regexp.MustCompile(`(?:src|href)="(/ui/[^"#]*)"`)
)

// TestFiles holds the pages to what the policy allows, and to each other.
func TestFiles(t *testing.T) {
	f, err := newFiles()
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range f.all {
		text := string(file.data)
		if strings.HasPrefix(name, "vendor/") {
			continue
		}
		for _, m := range imported.FindAllStringSubmatch(text, -1) {
			if target := path.Join(path.Dir(name), m[1]); !strings.HasPrefix(m[1], ".") || f.all[target].data == nil {
				t.Errorf("%s imports %s, which there is not", name, m[1])
			}
		}
		for _, m := range linked.FindAllStringSubmatch(text, -1) {
			if below := strings.TrimPrefix(m[1], Prefix); path.Ext(below) != "" && f.all[below].data == nil {
				t.Errorf("%s has a link to %s, which there is not", name, m[1])
			}
		}
		for _, bad := range []string{"://", "innerHTML", "dangerouslySetInnerHTML", "eval(", "new Function", "document.cookie", "setInterval(() => request"} {
			if strings.Contains(strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), bad) {
				t.Errorf("%s has %s", name, bad)
			}
		}
	}
	page := string(f.all[index].data)
	if inline := regexp.MustCompile(`(?i)<style|style=|\son[a-z]+=|<script(?:\s+type="[a-z]+")?>`).FindString(page); inline != "" {
		t.Errorf("the page has %q, which the policy refuses", inline)
	}
}

// Modules import each other in no circle, so that each can be read from the ground up.
func TestImports(t *testing.T) {
	f, err := newFiles()
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]bool{}
	var visit func(name string, way []string)
	visit = func(name string, way []string) {
		if slices.Contains(way, name) {
			t.Fatalf("a circle of imports: %s", strings.Join(append(way, name), " > "))
		}
		if done[name] || strings.HasPrefix(name, "vendor/") {
			return
		}
		for _, m := range imported.FindAllStringSubmatch(string(f.all[name].data), -1) {
			visit(path.Join(path.Dir(name), m[1]), append(slices.Clone(way), name))
		}
		done[name] = true
	}
	for name := range f.all {
		visit(name, nil)
	}
}

// TestStorage: what the console keeps in the browser is the theme, and never a token.
func TestStorage(t *testing.T) {
	f, err := newFiles()
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range f.all {
		for line := range strings.Lines(string(file.data)) {
			if strings.Contains(line, "sessionStorage") || strings.Contains(line, "localStorage") && !strings.Contains(line, "'raygate-theme'") {
				t.Errorf("%s keeps something else: %s", name, line)
			}
		}
	}
}
