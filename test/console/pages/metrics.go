package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// readMetrics returns the values of metrics without labels, in the order of their names.
func readMetrics(text io.Reader, names ...string) ([]float64, error) {
	values, found := make([]float64, len(names)), 0
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		for i, wanted := range names {
			if name != wanted {
				continue
			}
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return values, fmt.Errorf("reading metric %s: %w", name, err)
			}
			values[i] = v
			found++
		}
	}
	if err := lines.Err(); err != nil {
		return values, fmt.Errorf("reading metrics: %w", err)
	}
	if found != len(names) {
		return values, fmt.Errorf("reading metrics: only %d of %v are there", found, names)
	}
	return values, nil
}
