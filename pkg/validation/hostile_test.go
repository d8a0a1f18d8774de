package validation_test

import (
	"runtime"
	"strings"
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
	"github.com/raygate/raygate/pkg/validation/examples"
)

// TestHostileTextsAreBounded gives parsers what they are worst at, as large as an object can be.
func TestHostileTextsAreBounded(t *testing.T) {
	const size = 1 << 18
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := range 8 {
		name, before := string(rune('b'+i)), string(rune('a'+i))
		bomb += name + ": &" + name + " [" + strings.Repeat("*"+before+",", 8) + "*" + before + "]\n"
	}
	texts := map[string]string{
		"aliases":  bomb,
		"nested":   strings.Repeat("[", size),
		"maps":     strings.Repeat("{a: ", size/4),
		"lists":    strings.Repeat("- ", size/2),
		"one key":  strings.Repeat("a: 1\n", size/5),
		"blanks":   strings.Repeat(" ", size),
		"quotes":   strings.Repeat("'", size),
		"anchors":  strings.Repeat("&a ", size/3),
		"commas":   strings.Repeat("1,", size/2) + "1 * * * *",
		"digits":   strings.Repeat("9", size),
		"exponent": "1e-999999999",
		"controls": strings.Repeat("\x00\xff", size/2),
	}
	for name, text := range texts {
		job, service, cron, cluster := examples.BaseJob(), examples.BaseService(), examples.BaseCronJob(), examples.Base()
		job.Spec.RuntimeEnvYAML, job.Spec.EntrypointResources, job.Spec.Entrypoint, job.Spec.JobId = text, text, text, text
		service.Spec.ServeConfigV2, service.Annotations = text, map[string]string{rayv1.AnnotationInitializingTimeout: text}
		cron.Spec.Schedule, cron.Spec.TimeZone = text, &text
		cluster.Spec.RayVersion, cluster.Spec.HeadGroupSpec.Labels = text, map[string]string{text: text}
		cluster.Spec.HeadGroupSpec.Resources = map[string]string{"CPU": text}
		cluster.Spec.HeadGroupSpec.RayStartParams = map[string]string{"resources": text, "memory": text, "port": text, text: text}
		for _, object := range []validation.Object{job, service, cron, cluster} {
			checks, _ := validation.For(object)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			v := checks.Create(object, validation.Options{})
			checks.Update(object, object.DeepCopyObject().(validation.Object), validation.Options{})
			runtime.ReadMemStats(&after)
			// At most 260 as a rule; what grows with the square of the text is beyond 100,000.
			if perByte := (after.TotalAlloc - before.TotalAlloc) / size; perByte > 1000 {
				t.Errorf("%s in a %s: the verdicts allocate %d bytes per byte of text", name, checks.Kind, perByte)
			}
			for _, err := range append(v.Errors, v.Warnings...) {
				if len(err.ErrorBody()) > 1000 {
					t.Errorf("%s in a %s: %s says %d characters", name, checks.Kind, err.Field, len(err.ErrorBody()))
				}
			}
		}
	}
}
