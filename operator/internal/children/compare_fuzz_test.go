package children

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// FuzzPatchSettles demands of any two objects that one patch is enough: what a patch has been made of is satisfied.
func FuzzPatchSettles(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"spec":{"a":1,"list":[{"x":"y"}]}}`, `{"spec":{"a":2,"b":3,"list":[{"x":"y","z":"default"}]}}`},
		{`{"rules":[],"spec":{"tls":null}}`, `{"rules":[{"verbs":["get"]}],"spec":{"tls":[{}]}}`},
		{`{"metadata":{"annotations":{"gone":null,"stays":"1"}}}`, `{"metadata":{"annotations":{"gone":"1"}}}`},
		{`{"spec":{"a":{"b":0}}}`, `{"spec":[1]}`},
		{`{"spec":"text"}`, `{"spec":{"rules":[]}}`},
	} {
		f.Add(seed[0], seed[1])
	}
	r := rules{exact: [][]string{{"rules"}, {"spec", "rules"}, {"spec", "tls"}}}
	f.Fuzz(func(t *testing.T, wantedText, foundText string) {
		var wanted, found map[string]any
		if json.Unmarshal([]byte(wantedText), &wanted) != nil || json.Unmarshal([]byte(foundText), &found) != nil || wanted == nil || found == nil {
			return
		}
		for key, v := range wanted {
			if _, ok := v.(map[string]any); !ok && (key == "spec" || key == "metadata") {
				return // builders make objects
			}
		}
		if satisfied(wanted, found, r) {
			return
		}
		patched := merged(found, runtime.DeepCopyJSON(wanted))
		before, _ := json.Marshal(wanted)
		if !satisfied(wanted, patched.(map[string]any), r) {
			t.Errorf("%s is not satisfied by the object that it was merged into: %v", before, patched)
		}
	})
}

// merged is what a server makes of a merge patch.
func merged(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := target.(map[string]any)
	if !ok {
		t = map[string]any{}
	}
	for k, v := range p {
		if v == nil {
			delete(t, k)
			continue
		}
		t[k] = merged(t[k], v)
	}
	return t
}
