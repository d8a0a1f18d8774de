package manifest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
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
	isYAML bool
	data   []byte
} {
	key := strings.Repeat("k", size/3)
	return map[string]struct {
		isYAML bool
		data   []byte
	}{
		"JSON unknown keys":        {false, fill(size, `{"x":1`, `,"a%d":1`, "}")},
		"JSON almost known keys":   {false, fill(size, `{"spec":{"x":1`, `,"rayVersio_%d":1`, "}}")},
		"JSON the same key":        {false, fill(size, `{"a":1`, `,"a":1`, "}")},
		"JSON small values":        {false, fill(size, `{"spec":{"headGroupSpec":{"template":{"a":[1`, `,1`, "]}}}}")},
		"JSON empty objects":       {false, fill(size, `{"spec":{"workerGroupSpecs":[{}`, `,{}`, "]}}")},
		"JSON wrong types":         {false, fill(size, `{"spec":{"workerGroupSpecs":[1`, `,1`, "]}}")},
		"JSON deep":                {false, fill(size, ``, `{"a":`, "")},
		"JSON deep in many places": {false, fill(size, `{"spec":{"headGroupSpec":{"template":{"l":[0`, ","+strings.Repeat(`[`, 90)+strings.Repeat(`]`, 90), "]}}}}")},
		"JSON escapes":             {false, fill(size, `{"kind":"`, `\u00fc`, `"}`)},
		"JSON half surrogates":     {false, fill(size, `{"kind":"`, `\ud800`, `"}`)},
		"JSON digits":              {false, fill(size, `{"metadata":{"generation":1`, `0`, `}}`)},
		"JSON long keys":           {false, []byte(`{"spec":{"headServiceAnnotations":{"` + key + `":{"x":1},"b` + key + `":[1]}}}`)},
		"JSON unknown long keys":   {false, []byte(`{"` + key + `":1,"b` + key + `":1}`)},
		"JSON mistakes below long": {false, fill(size, `{"spec":{"headServiceAnnotations":{"`+key+`":1}},"x":{"y":1`, `,"a":1`, "}}")},
		"YAML flow list":           {true, fill(size, `a: [1`, `,1`, "]")},
		"YAML block list":          {true, fill(size, "a:\n", "- 1\n", "")},
		"YAML unknown keys":        {true, fill(size, "", "a%d: 1\n", "")},
		"YAML nested dashes":       {true, fill(size, "a: ", "- ", "")},
		"YAML nested brackets":     {true, fill(size, "a: ", "[", "")},
		"YAML comments":            {true, fill(size, "a: 1\n", "# x\n", "")},
		"YAML comments and keys":   {true, fill(size, "", "# x\na%d: 1 # y\n", "")},
		"YAML anchors":             {true, fill(size, "", "a%d: &x 1\n", "")},
		"YAML aliases":             {true, fill(size, "a: &x [1,2,3,4,5,6,7,8,9]\nb: [0", ",*x", "]")},
		"YAML aliases of text":     {true, fill(size, "a: &x "+key+"\nb: [0", ",*x", "]")},
		"YAML merges":              {true, fill(size, "a: &x {b: 1, c: 2, d: 3}\nb:\n", "- <<: *x\n", "")},
		"YAML bomb":                {true, []byte("a: &a [1,2,3,4,5,6,7,8]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f]\n" + strings.Repeat("#\n", size/4))},
		"YAML keys in question":    {true, fill(size, "", "? a%d\n", "")},
		"YAML quotes":              {true, fill(size, `kind: "`, `\n`, `"`)},
		"YAML folded text":         {true, fill(size, "kind: >\n", "  a\n\n", "")},
		"YAML documents":           {true, fill(size, "", "---\n", "")},
	}
}

// BenchmarkHostile shows what a byte of the worst documents costs: time as ns/byte, memory as B/byte.
func BenchmarkHostile(b *testing.B) {
	for name, tc := range hostile(3 << 20) { // as long as a body may be
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = readCluster(tc.data, tc.isYAML)
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
			_, _, errs := readCluster(tc.data, tc.isYAML)
			runtime.ReadMemStats(&after)
			if perByte := (after.TotalAlloc - before.TotalAlloc) / uint64(len(tc.data)); perByte > 400 {
				t.Errorf("%d bytes are allocated per byte of the document, want at most 400", perByte)
			}
			if told := fmt.Sprint(errs); len(told) > 100<<10 {
				t.Errorf("the mistakes are told in %d bytes", len(told))
			}
		})
	}
}
