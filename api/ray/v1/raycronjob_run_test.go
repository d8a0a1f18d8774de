package v1

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRunName(t *testing.T) {
	cron := &RayCronJob{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	for tick, want := range map[int64]string{29401234 * 60: "demo-29401234", 29401234*60 + 59: "demo-29401234", -1: "demo--1"} {
		if got := cron.RunMeta(time.Unix(tick, 0)).Name; got != want {
			t.Errorf("at %d: want %s, got %s", tick, want, got)
		}
	}
}
