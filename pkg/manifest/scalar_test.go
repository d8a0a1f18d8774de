package manifest

import "testing"

func TestParseQuantity(t *testing.T) {
	for text, want := range map[string]string{
		"500m": "500m", "0.5": "500m", "1e3": "1e3", "1e999": "1e999",
		// Hours of work for the parser.
		"1e-999999999": "", "1E+1000": "", "1 Gi": "", "": "",
	} {
		q, err := ParseQuantity(text)
		if got := q.String(); err == nil && got != want || (err == nil) != (want != "") {
			t.Errorf("%q becomes %q, %v; want %q", text, got, err, want)
		}
	}
}
