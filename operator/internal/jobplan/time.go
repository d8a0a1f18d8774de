package jobplan

import "time"

// Limits count from when this process got to know something, and not from what another clock says: those of heads, kubelets and controllers
// differ, and an operator that was away has to look before it judges. All fields of an Input that end in Since are such a time. Zero means that
// it is not so.

// lasted reports whether something has been so for a time. What is not so has not lasted.
func (s *step) lasted(since time.Time, d time.Duration) bool { return s.passed(after(since, d)) }

// lookAfter asks for a look when something has been so for a time, if it is so.
func (s *step) lookAfter(since time.Time, d time.Duration) { s.lookAt(after(since, d)) }

// after is the end of a time that begins with since; zero without a beginning.
func after(since time.Time, d time.Duration) time.Time {
	if since.IsZero() {
		return since
	}
	return since.Add(d)
}

// passed treats the moment itself as passed, and no moment as never.
func (s *step) passed(t time.Time) bool { return !t.IsZero() && !s.in.Now.Before(t) }

// lookAt asks for a look at a moment, and for none at a zero one; the first one counts. What is due has been looked at.
func (s *step) lookAt(t time.Time) {
	d := t.Sub(s.in.Now)
	if !t.IsZero() && d > 0 && (s.plan.After == 0 || d < s.plan.After) {
		s.plan.After = d
	}
}
