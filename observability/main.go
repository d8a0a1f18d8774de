// Command observability writes the Grafana dashboards of raygate into dashboards/, and the documents about alerts and metrics. Its tests hold dashboards
// and rules to the metrics that operator and gateway register. It is a module of its own, so that Prometheus' parser is no dependency of raygate.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "observability:", err)
		os.Exit(1)
	}
}

// write writes all generated files.
func write() error {
	for _, d := range dashboards {
		data, err := d.json()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join("dashboards", d.uid+".json"), data, 0o644); err != nil {
			return err
		}
	}
	return writePages()
}

// dashboard is a page of graphs.
type dashboard struct {
	uid, title string
	// metric is one that no other program has. The values of its labels job and cluster are those to choose from.
	metric string
	// variables are more label names to choose by, with the metric that knows their values.
	variables []variable
	// everywhere are the variables that every selector gets, besides job and cluster.
	everywhere []string
	rows       []row
}

type variable struct{ label, metric string }

type row struct {
	title  string
	panels []panel
}

// panel shows expressions over time.
type panel struct {
	title, unit string
	// text is the meaning of the alert.
	text    string
	queries []query
}

type query struct{ expression, legend string }

type object = map[string]any

const width = 12 // of 24: two panels side by side

// json is the dashboard in the form that Grafana imports.
func (d dashboard) json() ([]byte, error) {
	source := object{"type": "prometheus", "uid": "${datasource}"}
	variables := []object{{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}}
	for _, v := range d.allVariables() {
		made := object{
			"name": v.label, "label": v.label, "type": "query", "datasource": source, "includeAll": true, "multi": true, "allValue": ".*", "refresh": 2,
			"query": object{"query": fmt.Sprintf("label_values(%s, %s)", v.metric, v.label), "refId": v.label}, "current": object{"text": "All", "value": "$__all"},
		}
		if v.label == "job" { // all of those that are found, and not any job
			delete(made, "allValue")
		}
		variables = append(variables, made)
	}
	var panels []object
	y := 0
	for _, r := range d.rows {
		panels = append(panels, object{"id": len(panels) + 1, "type": "row", "title": r.title, "collapsed": false, "gridPos": object{"x": 0, "y": y, "w": 24, "h": 1}})
		y++
		for i, p := range r.panels {
			made, err := p.json(d, len(panels)+1, i%2*width, y+i/2*8, source)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", d.uid, p.title, err)
			}
			panels = append(panels, made)
		}
		y += (len(r.panels) + 1) / 2 * 8
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(object{
		"uid": d.uid, "title": d.title, "tags": []string{"raygate", "ray"}, "schemaVersion": 39, "editable": true, "timezone": "browser", "refresh": "30s",
		"time": object{"from": "now-3h", "to": "now"}, "templating": object{"list": variables}, "panels": panels,
	})
	return out.Bytes(), err
}

// allVariables are those of the dashboard, after the cluster of Prometheus' external labels and the job.
func (d dashboard) allVariables() []variable {
	return append([]variable{{"cluster", d.metric}, {"job", d.metric}}, d.variables...)
}

// scoped adds the choice of the job and the like to every selector of an expression, so that series of other programs never count.
func (d dashboard) scoped(expression string) (string, error) {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		return "", err
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			for _, label := range append([]string{"cluster", "job"}, d.everywhere...) {
				selector.LabelMatchers = append(selector.LabelMatchers, labels.MustNewMatcher(labels.MatchRegexp, label, "$"+label))
			}
		}
		return nil
	})
	return parsed.String(), nil
}

func (p panel) json(d dashboard, id, x, y int, source object) (object, error) {
	var targets []object
	for i, q := range p.queries {
		expression, err := d.scoped(q.expression)
		if err != nil {
			return nil, err
		}
		targets = append(targets, object{"refId": string(rune('A' + i)), "datasource": source, "expr": expression, "legendFormat": q.legend})
	}
	return object{
		"id": id, "type": "timeseries", "title": p.title, "description": p.text, "datasource": source, "targets": targets,
		"gridPos": object{"x": x, "y": y, "w": width, "h": 8}, "fieldConfig": object{"defaults": object{"unit": p.unit, "min": 0}, "overrides": []object{}},
		"options": object{"legend": object{"displayMode": "table", "placement": "right", "calcs": []string{"lastNotNull"}}, "tooltip": object{"mode": "multi"}},
	}, nil
}
