package cronplan

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // for images without a database of time zones

	"github.com/robfig/cron/v3"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Errors about schedules. Validation rejects them too; stored objects may be older.
var (
	// ErrSchedule means that a schedule or its time zone is invalid.
	ErrSchedule = errors.New("invalid schedule")
	// ErrNever means that the schedule has no time in the next five years.
	ErrNever = errors.New("the schedule never comes")
)

// MaxMissed limits the number of counted missed runs.
const MaxMissed = 100

// Plan is the result of a decision.
type Plan struct {
	// Run is the scheduled time to run for now, the newest one that is not after now; zero if nothing is due.
	Run time.Time
	// Missed is the number of skipped times before Run, at most MaxMissed.
	Missed int
	// Next is the first time after now, and After the duration until then. Both are zero while suspended.
	Next  time.Time
	After time.Duration
}

// For returns the plan for a RayCronJob. local is the time zone of schedules without one. A RayCronJob that is suspended or being
// deleted runs nothing.
func For(cj *rayv1.RayCronJob, now time.Time, local *time.Location) (Plan, error) {
	s, err := Parse(cj.Spec.Schedule, cj.Spec.TimeZone, local)
	if err != nil {
		return Plan{}, err
	}
	if cj.DeletionTimestamp != nil || cj.Spec.Suspend != nil && *cj.Spec.Suspend {
		return Plan{}, nil
	}
	base := base(cj)
	if base.IsZero() {
		base = now
	}
	p := Plan{}
	p.Run, p.Missed = s.Newest(base, now)
	from := base
	if !p.Run.IsZero() {
		from = p.Run
	}
	for p.Next = s.Next(from); !p.Next.IsZero() && !p.Next.After(now); { // base is in the future if the clock was set back
		p.Next = s.Next(p.Next)
	}
	if p.Next.IsZero() {
		return p, fmt.Errorf("%w: %q", ErrNever, cj.Spec.Schedule)
	}
	p.After = p.Next.Sub(now)
	return p, nil
}

// base is the time after which runs count: that of the last one, or of the creation.
func base(cj *rayv1.RayCronJob) time.Time {
	if last := cj.Status.LastScheduleTime; last != nil && !last.IsZero() {
		return last.Time
	}
	return cj.CreationTimestamp.Time
}

// Due returns when the first run after the last one is due. It is in the past while a run is late or cannot be created, and zero
// while the RayCronJob is suspended or being deleted, or if its schedule cannot be read.
func Due(cj *rayv1.RayCronJob, local *time.Location) time.Time {
	s, err := Parse(cj.Spec.Schedule, cj.Spec.TimeZone, local)
	from := base(cj)
	if err != nil || from.IsZero() || cj.DeletionTimestamp != nil || cj.Spec.Suspend != nil && *cj.Spec.Suspend {
		return time.Time{}
	}
	return s.Next(from)
}

// Schedule is a schedule in a time zone.
type Schedule struct {
	cron cron.Schedule
	zone *time.Location
}

// maxSchedule is the maximum length of a schedule, far above any useful one.
const maxSchedule = 1024

// Parse parses a schedule. A nil zone means local.
func Parse(text string, zone *string, local *time.Location) (Schedule, error) {
	if len(text) > maxSchedule || strings.Contains(text, "TZ") {
		return Schedule{}, fmt.Errorf("%w: it is too long or names a time zone", ErrSchedule)
	}
	parsed, err := parse(text)
	if err != nil {
		return Schedule{}, fmt.Errorf("%w: %w", ErrSchedule, err)
	}
	if zone != nil {
		if local, err = time.LoadLocation(*zone); err != nil || *zone == "" {
			return Schedule{}, fmt.Errorf("%w: unknown time zone %q", ErrSchedule, *zone)
		}
	}
	return Schedule{parsed, local}, nil
}

// parse recovers from panics of the library.
func parse(text string) (s cron.Schedule, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("parsing %q: %v", text, r)
		}
	}()
	return cron.ParseStandard(text)
}

// Next returns the first time after t that is not in the same minute as t. It is zero if there is none within five years.
func (s Schedule) Next(t time.Time) time.Time {
	if every, ok := s.cron.(cron.ConstantDelaySchedule); ok {
		delay := every.Delay
		if steps := untilNextMinute(t) / delay; delay < time.Minute && steps > 0 {
			if delay *= steps; delay < untilNextMinute(t) {
				delay += every.Delay
			}
		}
		return t.Add(delay).In(s.zone).Truncate(time.Second)
	}
	return s.cron.Next(t.In(s.zone))
}

func untilNextMinute(t time.Time) time.Duration {
	second := (t.Unix()%60 + 60) % 60 // not t.Second: historic time zones differ by seconds
	return time.Minute - time.Duration(second)*time.Second - time.Duration(t.Nanosecond())
}

// Newest returns the last time after base that is not after now, and the number of times before it. It does not iterate over years
// of them.
func (s Schedule) Newest(base, now time.Time) (time.Time, int) {
	first := s.Next(base)
	if first.IsZero() || first.After(now) {
		return time.Time{}, 0
	}
	missed, last := 0, first
	for missed < MaxMissed {
		next := s.Next(last)
		if next.IsZero() || next.After(now) {
			return last, missed
		}
		last = next
		missed++
	}
	return s.before(last, now), missed
}

// before returns the last time that is not after now, at or after a known one. It looks back a short time and doubles that, so
// that it iterates over few times.
func (s Schedule) before(known, now time.Time) time.Time {
	if every, ok := s.cron.(cron.ConstantDelaySchedule); ok && every.Delay >= time.Minute {
		return known.Add(now.Sub(known) / every.Delay * every.Delay)
	}
	for back := time.Minute; ; back *= 2 {
		from := now.Add(-back)
		if from.Before(known) {
			from = known
		}
		last := time.Time{}
		for t := s.Next(from); !t.IsZero() && !t.After(now); t = s.Next(t) {
			last = t
		}
		switch {
		case !last.IsZero():
			return last
		case from.Equal(known):
			return known
		}
	}
}
