package codec

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// fill repeats items, numbered, between a head and a tail until the document has the size.
func fill(size int, head, item, tail string) []byte {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; b.Len() < size-len(item)-len(tail)-8; i++ {
		if strings.Contains(item, "%d") {
			fmt.Fprintf(&b, item, i)
		} else {
			b.WriteString(item)
		}
	}
	b.WriteString(tail)
	return []byte(b.String())
}

// hostile are documents that are made to cost: in time, in memory, or in what is said about them.
func hostile(size int) map[string]struct {
	contentType string
	data        []byte
} {
	key := strings.Repeat("k", size/3)
	return map[string]struct {
		contentType string
		data        []byte
	}{
		"JSON unknown keys":        {JSON, fill(size, `{"x":1`, `,"a%d":1`, "}")},
		"JSON almost known keys":   {JSON, fill(size, `{"spec":{"x":1`, `,"rayVersio_%d":1`, "}}")},
		"JSON the same key":        {JSON, fill(size, `{"a":1`, `,"a":1`, "}")},
		"JSON small values":        {JSON, fill(size, `{"spec":{"headGroupSpec":{"template":{"a":[1`, `,1`, "]}}}}")},
		"JSON empty objects":       {JSON, fill(size, `{"spec":{"workerGroupSpecs":[{}`, `,{}`, "]}}")},
		"JSON wrong types":         {JSON, fill(size, `{"spec":{"workerGroupSpecs":[1`, `,1`, "]}}")},
		"JSON deep":                {JSON, fill(size, ``, `{"a":`, "")},
		"JSON deep in many places": {JSON, fill(size, `{"spec":{"headGroupSpec":{"template":{"l":[0`, ","+strings.Repeat(`[`, 90)+strings.Repeat(`]`, 90), "]}}}}")},
		"JSON escapes":             {JSON, fill(size, `{"kind":"`, `\u00fc`, `"}`)},
		"JSON half surrogates":     {JSON, fill(size, `{"kind":"`, `\ud800`, `"}`)},
		"JSON digits":              {JSON, fill(size, `{"metadata":{"generation":1`, `0`, `}}`)},
		"JSON long keys":           {JSON, []byte(`{"spec":{"headServiceAnnotations":{"` + key + `":{"x":1},"b` + key + `":[1]}}}`)},
		"JSON unknown long keys":   {JSON, []byte(`{"` + key + `":1,"b` + key + `":1}`)},
		"JSON mistakes below long": {JSON, fill(size, `{"spec":{"headServiceAnnotations":{"`+key+`":1}},"x":{"y":1`, `,"a":1`, "}}")},
		"YAML flow list":           {YAML, fill(size, `a: [1`, `,1`, "]")},
		"YAML block list":          {YAML, fill(size, "a:\n", "- 1\n", "")},
		"YAML unknown keys":        {YAML, fill(size, "", "a%d: 1\n", "")},
		"YAML nested dashes":       {YAML, fill(size, "a: ", "- ", "")},
		"YAML nested brackets":     {YAML, fill(size, "a: ", "[", "")},
		"YAML comments":            {YAML, fill(size, "a: 1\n", "# x\n", "")},
		"YAML comments and keys":   {YAML, fill(size, "", "# x\na%d: 1 # y\n", "")},
		"YAML anchors":             {YAML, fill(size, "", "a%d: &x 1\n", "")},
		"YAML aliases":             {YAML, fill(size, "a: &x [1,2,3,4,5,6,7,8,9]\nb: [0", ",*x", "]")},
		"YAML aliases of text":     {YAML, fill(size, "a: &x "+key+"\nb: [0", ",*x", "]")},
		"YAML merges":              {YAML, fill(size, "a: &x {b: 1, c: 2, d: 3}\nb:\n", "- <<: *x\n", "")},
		"YAML bomb":                {YAML, []byte("a: &a [1,2,3,4,5,6,7,8]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f]\n" + strings.Repeat("#\n", size/4))},
		"YAML keys in question":    {YAML, fill(size, "", "? a%d\n", "")},
		"YAML quotes":              {YAML, fill(size, `kind: "`, `\n`, `"`)},
		"YAML folded text":         {YAML, fill(size, "kind: >\n", "  a\n\n", "")},
		"YAML documents":           {YAML, fill(size, "", "---\n", "")},
	}
}

// BenchmarkHostile shows what a byte of the worst documents costs: time as ns/byte, memory as B/byte.
func BenchmarkHostile(b *testing.B) {
	for name, tc := range hostile(3 << 20) { // as long as a body may be
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = Decode(tc.data, tc.contentType, &raygatev2.RayCluster{})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(tc.data)), "ns/byte")
		})
	}
}

// TestHostileDocumentsAreBounded holds the bound of the package's doc: memory per byte of the document, and a reply that is short.
func TestHostileDocumentsAreBounded(t *testing.T) {
	for name, tc := range hostile(600 << 10) { // where the number of values does not yet bound it
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := Decode(tc.data, tc.contentType, &raygatev2.RayCluster{})
			runtime.ReadMemStats(&after)
			if perByte := (after.TotalAlloc - before.TotalAlloc) / uint64(len(tc.data)); perByte > 400 {
				t.Errorf("%d bytes are allocated per byte of the document, want at most 400", perByte)
			}
			if err != nil && len(err.Error()) > 100<<10 {
				t.Errorf("the mistakes are told in %d bytes", len(err.Error()))
			}
		})
	}
}
