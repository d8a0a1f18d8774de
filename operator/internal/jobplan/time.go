package jobplan

import "time"

// Limits count from observations of this process, not from other clocks. Clocks of heads, kubelets and controllers differ, and an
// operator that was down must observe before it decides. All fields of an Input whose names end in Since are such times. Zero
// means that the condition does not hold.

// lasted reports whether a condition has held for d. It is false if the condition does not hold.
func (s *step) lasted(since time.Time, d time.Duration) bool { return s.passed(after(since, d)) }

// lookAfter schedules a reconcile for the time when a condition has held for d, if it holds.
func (s *step) lookAfter(since time.Time, d time.Duration) { s.lookAt(after(since, d)) }

// lookAtPods schedules the next look at Pods of the submitter, which are not watched.
func (s *step) lookAtPods() { s.lookAt(s.in.Now.Add(2 * time.Second)) }

// after returns since plus d; zero if since is zero.
func after(since time.Time, d time.Duration) time.Time {
	if since.IsZero() {
		return since
	}
	return since.Add(d)
}

// passed reports whether t is now or earlier; false for zero.
func (s *step) passed(t time.Time) bool { return !t.IsZero() && !s.in.Now.Before(t) }

// lookAt schedules a reconcile at t; the earliest one counts. It ignores zero and times that have passed.
func (s *step) lookAt(t time.Time) {
	d := t.Sub(s.in.Now)
	if !t.IsZero() && d > 0 && (s.plan.After == 0 || d < s.plan.After) {
		s.plan.After = d
	}
}
