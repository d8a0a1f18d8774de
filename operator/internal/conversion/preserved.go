package conversion

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Annotations with the fields that the current version lacks. An object has at most one of them; conversion drops a forged second
// one.
const (
	// AnnotationHubExtra is set on v1alpha1 objects and contains the fields that only v1 has.
	AnnotationHubExtra = "conversion.ray.io/v1-extra"
	// AnnotationOldExtra is set on v1 objects and contains the fields that only v1alpha1 has.
	AnnotationOldExtra = "conversion.ray.io/v1alpha1-extra"
)

const (
	preservedFormat     = "$format"
	preservedIncomplete = "$incomplete"
	formatNumber        = int64(1)

	// compressAbove is the size in bytes above which preserved fields are compressed.
	compressAbove = 32 << 10
	compressed    = "gzip:"
	// decompressLimit limits the memory for a forged annotation, in bytes.
	decompressLimit = 16 << 20
)

// errIncomplete rejects a write through v1alpha1 that would lose fields that did not fit into the annotation.
var errIncomplete = errors.New("the object has more fields that only v1 has than an annotation can carry, so v1alpha1 can read it and not write it; write it through ray.io/v1")

// encodePreserved returns the value of the annotation, at most limit bytes long. Preserved fields that do not fit are replaced by
// a note.
func encodePreserved(preserved map[string]any, limit int) (string, error) {
	preserved[preservedFormat] = formatNumber
	raw, err := utiljson.Marshal(preserved)
	if err != nil {
		return "", fmt.Errorf("encoding the fields to keep: %w", err)
	}
	text := string(raw)
	if len(raw) > compressAbove {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write(raw)
		if err := errors.Join(err, z.Close()); err != nil {
			return "", fmt.Errorf("compressing the fields to keep: %w", err)
		}
		text = compressed + base64.StdEncoding.EncodeToString(b.Bytes())
	}
	if len(text) > limit {
		return fmt.Sprintf(`{"%s":%d,"%s":true}`, preservedFormat, formatNumber, preservedIncomplete), nil
	}
	return text, nil
}

// decodePreserved returns nil for a value that this program did not write: clients may write any value, which must not prevent
// reading the object.
func decodePreserved(text string) (map[string]any, error) {
	raw := []byte(text)
	if packed, ok := strings.CutPrefix(text, compressed); ok {
		z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed)))
		if err != nil {
			return nil, nil //nolint:nilerr // see above
		}
		if raw, err = io.ReadAll(io.LimitReader(z, decompressLimit)); err != nil {
			return nil, nil //nolint:nilerr // see above
		}
	}
	var preserved map[string]any
	if err := utiljson.Unmarshal(raw, &preserved); err != nil || preserved[preservedFormat] != formatNumber {
		return nil, nil //nolint:nilerr // see above
	}
	if incomplete, _ := preserved[preservedIncomplete].(bool); incomplete {
		return nil, errIncomplete
	}
	return preserved, nil
}

// removeAnnotation removes the annotation and returns its value, or "" if there is none.
func removeAnnotation(obj map[string]any, key string) string {
	metadata, _ := obj["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, ok := annotations[key].(string)
	if !ok {
		return ""
	}
	delete(annotations, key)
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	if len(metadata) == 0 {
		delete(obj, "metadata")
	}
	return text
}

// putPreserved adds the annotation if there are preserved fields.
func putPreserved(obj map[string]any, key string, preserved map[string]any) error {
	if len(preserved) == 0 {
		return nil
	}
	metadata, ok := obj["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		obj["metadata"] = metadata
	}
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	room := validation.TotalAnnotationSizeLimitB - len(key)
	for name, value := range annotations {
		text, _ := value.(string)
		room -= len(name) + len(text)
	}
	text, err := encodePreserved(preserved, room)
	if err != nil {
		return err
	}
	annotations[key] = text
	return nil
}
