package verb

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/cmd/raygate/internal/check"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	"github.com/raygate/raygate/cmd/raygate/internal/manifestfile"
)

// document is an object in a file.
type document struct {
	// where is the file, line and name of the object, for errors.
	where     string
	kind      *kind.Kind
	namespace string
	message   proto.Message
}

// readDocuments reads the Ray objects in files. When one cannot be read all mistakes of all are printed, and nothing is written.
func readDocuments(s *session, files []string) ([]*document, error) {
	if len(files) == 0 {
		return nil, errors.New("name files with -f, or - for standard input")
	}
	sources, err := manifestfile.Read(files, s.in)
	if err != nil {
		return nil, err
	}
	var documents []*document
	mistakes := 0
	for _, source := range sources {
		for _, doc := range manifestfile.Documents(source) {
			form := check.Form(doc)
			for _, f := range form.Findings {
				if f.Severity == check.Error {
					mistakes++
				}
				fmt.Fprintln(s.err, findingText(f))
			}
			if form.Kind == "" || mistakes > 0 {
				continue
			}
			d, err := s.document(doc, form)
			if err != nil {
				return nil, err
			}
			documents = append(documents, d)
		}
	}
	switch {
	case mistakes > 0:
		return nil, &Failed{Code: ExitUsage}
	case len(documents) == 0:
		return nil, errors.New("there is no Ray object in these files")
	}
	return documents, nil
}

func (s *session) document(doc manifestfile.Document, form check.Header) (*document, error) {
	k, known := kind.OfObject(form.Kind)
	if !known {
		return nil, fmt.Errorf("%s:%d: unknown kind %q", doc.Source, doc.Line, form.Kind)
	}
	d := &document{where: fmt.Sprintf("%s:%d %s/%s", doc.Source, doc.Line, k.Singular, form.Name), kind: k, namespace: s.namespace, message: k.New()}
	doc.Tree["apiVersion"] = check.Version // an older one has the same fields
	if err := convert.Fill(d.message, doc.Tree); err != nil {
		return nil, fmt.Errorf("%s: %w", d.where, err)
	}
	switch own := form.Namespace; {
	case own == "":
	case s.flags.Namespace != "" && own != s.namespace:
		return nil, fmt.Errorf("%s: it is of namespace %s, and -n says %s", d.where, own, s.namespace)
	default:
		d.namespace = own
	}
	return d, nil
}

func findingText(f check.Finding) string {
	text := fmt.Sprintf("%s:%d", f.File, f.Line)
	if f.Kind != "" {
		text += " " + f.Kind + " " + f.Name
	}
	text += ": " + string(f.Severity) + ": "
	if f.Field != "" {
		text += f.Field + ": "
	}
	return text + f.Message
}
