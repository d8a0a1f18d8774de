// Command observability writes the Grafana dashboards of raygate into dashboards/. Its tests hold dashboards and rules to the metrics that operator and
// gateway register, and the alerts to docs/observability.md. It is a module of its own, so that Prometheus' parser is no dependency of raygate.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	for _, d := range dashboards {
		data, err := d.json()
		if err == nil {
			err = os.WriteFile(filepath.Join("dashboards", d.uid+".json"), data, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "observability:", err)
			os.Exit(1)
		}
	}
}

// dashboard is a page of graphs.
type dashboard struct {
	uid, title string
	// variables are label names to choose by, with the metric that knows their values.
	variables []variable
	rows      []row
}

type variable struct{ label, metric string }

type row struct {
	title  string
	panels []panel
}

// panel shows expressions over time.
type panel struct {
	title, unit string
	// text says what to look for.
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
	for _, v := range d.variables {
		variables = append(variables, object{
			"name": v.label, "label": v.label, "type": "query", "datasource": source, "includeAll": true, "multi": true, "allValue": ".*", "refresh": 2,
			"query": object{"query": fmt.Sprintf("label_values(%s, %s)", v.metric, v.label), "refId": v.label}, "current": object{"text": "All", "value": "$__all"},
		})
	}
	var panels []object
	y := 0
	for _, r := range d.rows {
		panels = append(panels, object{"id": len(panels) + 1, "type": "row", "title": r.title, "collapsed": false, "gridPos": object{"x": 0, "y": y, "w": 24, "h": 1}})
		y++
		for i, p := range r.panels {
			panels = append(panels, p.json(len(panels)+1, i%2*width, y+i/2*8, source))
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

func (p panel) json(id, x, y int, source object) object {
	var targets []object
	for i, q := range p.queries {
		targets = append(targets, object{"refId": string(rune('A' + i)), "datasource": source, "expr": q.expression, "legendFormat": q.legend})
	}
	return object{
		"id": id, "type": "timeseries", "title": p.title, "description": p.text, "datasource": source, "targets": targets,
		"gridPos": object{"x": x, "y": y, "w": width, "h": 8}, "fieldConfig": object{"defaults": object{"unit": p.unit, "min": 0}, "overrides": []object{}},
		"options": object{"legend": object{"displayMode": "table", "placement": "right", "calcs": []string{"lastNotNull"}}, "tooltip": object{"mode": "multi"}},
	}
}
