// Package schedule reads schedules of cron, as the operator does.
package schedule

import (
	"errors"
	"strings"
	"time"
	_ "time/tzdata" // for machines without a database of time zones, such as an image with nothing but this program

	"github.com/robfig/cron/v3"
)

// maxLength is far above the length of any meaningful schedule.
const maxLength = 1024

// Parse reads a schedule without a time zone.
func Parse(text string) (cron.Schedule, error) {
	if len(text) > maxLength || strings.Contains(text, "TZ") {
		return nil, errors.New("no schedule")
	}
	return cron.ParseStandard(text)
}

// KnownZone reports whether the name is that of a time zone.
func KnownZone(name string) bool {
	_, err := time.LoadLocation(name)
	return err == nil && name != ""
}
