package ports

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// Table maps the name of a listener to its port.
type Table map[string]int

// Load reads a table that Save wrote. It returns an empty table for a missing or unreadable file, because saved ports are only a
// convenience.
func Load(path string) Table {
	data, err := os.ReadFile(path)
	if err != nil {
		return Table{}
	}
	var t Table
	if err := json.Unmarshal(data, &t); err != nil || t == nil {
		return Table{}
	}
	return t
}

// Save writes the table.
func (t Table) Save(path string) error {
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding ports: %w", err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("saving ports: %w", err)
	}
	return nil
}

// Moved is a listener that did not get its usual port.
type Moved struct {
	Name        string
	Usual, Port int
}

// Assign assigns a port to every listener in usual: the saved one if it is free, else the usual one, else another. It returns the
// listeners that got neither, sorted by name.
func Assign(c *Chooser, usual, saved Table) (Table, []Moved, error) {
	out := Table{}
	var moved []Moved
	names := make([]string, 0, len(usual))
	for name := range usual {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		port, preferred, err := c.Choose(saved[name], usual[name])
		if err != nil {
			return nil, nil, fmt.Errorf("finding a port for %s: %w", name, err)
		}
		out[name] = port
		if !preferred {
			moved = append(moved, Moved{Name: name, Usual: usual[name], Port: port})
		}
	}
	return out, moved, nil
}
