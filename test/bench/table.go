package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// Row is one figure of the report.
type Row struct {
	// Scenario that measured it.
	Scenario string `json:"scenario"`
	// Description of the measurement, for users.
	What string `json:"what"`
	// Unit of Measured and Direct.
	Unit string `json:"unit"`
	// Measured is the figure of raygate: the median where there are several.
	Measured float64 `json:"measured"`
	// Direct is the figure of the same work without raygate; nil if there is no comparison.
	Direct *float64 `json:"direct,omitempty"`
	// Ratio of Measured to Direct.
	Ratio *float64 `json:"ratio,omitempty"`
	// Aim in words; empty when the figure is only for information.
	Aim string `json:"aim,omitempty"`
	// Verdict is "reached" or "missed"; empty without an aim.
	Verdict string `json:"verdict,omitempty"`
	// Note is the reason for the figure of Direct; mostly empty.
	Note string `json:"note,omitempty"`
}

// Report collects the rows of all scenarios.
type Report struct {
	Rows []Row `json:"rows"`
}

// Aim is the target of a row.
type Aim struct {
	onRatio bool
	limit   float64
	strict  bool
}

// ratioAtMost is reached when measured/direct is at most limit.
func ratioAtMost(limit float64) *Aim { return &Aim{onRatio: true, limit: limit} }

// ratioBelow is reached when measured/direct is less than limit.
func ratioBelow(limit float64) *Aim { return &Aim{onRatio: true, limit: limit, strict: true} }

// atMost is reached when the measured figure is at most limit.
func atMost(limit float64) *Aim { return &Aim{limit: limit} }

// below20 is reached when the measured figure, in milliseconds, is less than 20.
func below20() *Aim { return &Aim{limit: 20, strict: true} }

func (a Aim) text(unit string) string {
	sign := "<="
	if a.strict {
		sign = "<"
	}
	if a.onRatio {
		return fmt.Sprintf("%s %gx", sign, a.limit)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %g %s", sign, a.limit, unit))
}

func (a Aim) reached(r Row) bool {
	v := r.Measured
	if a.onRatio {
		if r.Ratio == nil {
			return false
		}
		v = *r.Ratio
	}
	if a.strict {
		return v < a.limit
	}
	return v <= a.limit
}

// Add appends a row with the medians of measured and direct. direct may be empty, aim nil.
func (r *Report) Add(row Row, measured, direct []float64, aim *Aim) {
	row.Measured = median(measured)
	if len(direct) > 0 {
		row.Direct = new(median(direct))
		if *row.Direct > 0 {
			row.Ratio = new(row.Measured / *row.Direct)
		}
	}
	if aim != nil {
		row.Aim, row.Verdict = aim.text(row.Unit), "missed"
		if aim.reached(row) {
			row.Verdict = "reached"
		}
	}
	r.Rows = append(r.Rows, row)
}

// median of values, 0 when there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SCENARIO\tWHAT\tMEASURED\tDIRECT\tRATIO\tAIM\tVERDICT\tNOTE")
	for _, row := range r.Rows {
		direct, ratio := "", ""
		if row.Direct != nil {
			direct = figure(*row.Direct, row.Unit)
		}
		if row.Ratio != nil {
			ratio = fmt.Sprintf("%.2fx", *row.Ratio)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			row.Scenario, row.What, figure(row.Measured, row.Unit), direct, ratio, row.Aim, row.Verdict, row.Note)
	}
	return tw.Flush()
}

// figure with three digits or all before the point, and its unit.
func figure(v float64, unit string) string {
	digits := 0
	if v != 0 {
		digits = min(4, max(0, 2-int(math.Floor(math.Log10(math.Abs(v))))))
	}
	text := fmt.Sprintf("%.*f", digits, v)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return strings.TrimSpace(text + " " + unit)
}
