// Uncovered reads a coverage profile of the simulation, prints the share of branches that it covers, and lists the others, those with a reason in
// reasons.txt apart. It fails when the share is below 95 percent. It runs in the root of the repository.
package main

import (
	"bufio"
	_ "embed"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	module = "github.com/raygate/raygate/"
	least  = 95.0
)

// reasons has a line for each branch that the simulation does not reach: the file below operator/internal, a part of its first line, and why.
//
//go:embed reasons.txt
var reasons string

var blockLine = regexp.MustCompile(`^` + module + `(\S+\.go):(\d+)\.(\d+),(\d+)\.(\d+) (\d+) (\d+)$`)

// block is a branch: statements without a jump between them.
type block struct {
	file       string
	begin, col int
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: uncovered PROFILE")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "uncovered:", err)
		os.Exit(1)
	}
}

func run(profile string) error {
	counts, err := read(profile)
	if err != nil {
		return err
	}
	covered, all := map[string]int{}, map[string]int{}
	var explained, open []string
	for _, b := range sorted(counts) {
		name := path.Base(path.Dir(b.file))
		all[name]++
		if counts[b] > 0 {
			covered[name]++
			continue
		}
		line, err := text(b)
		if err != nil {
			return err
		}
		at := fmt.Sprintf("%s:%d: %s", strings.TrimPrefix(b.file, "operator/internal/"), b.begin, line)
		if why := reason(b.file, line); why != "" {
			explained = append(explained, at+"\n        "+why)
			covered[name]++
		} else {
			open = append(open, at)
		}
	}
	fmt.Printf("not reached, with a reason:\n  %s\nnot reached:\n  %s\n", strings.Join(explained, "\n  "), strings.Join(open, "\n  "))
	var low []string
	for _, name := range []string{"jobplan", "serveplan", "cronplan", "podplan"} {
		share := 100 * float64(covered[name]) / float64(max(1, all[name]))
		fmt.Printf("%-10s %5.1f %% of %d branches\n", name, share, all[name])
		if share < least {
			low = append(low, name)
		}
	}
	if len(low) > 0 {
		return fmt.Errorf("below %.0f %%: %s; run more seeds, or give a reason in operator/simulation/uncovered/reasons.txt", least, strings.Join(low, ", "))
	}
	return nil
}

// read sums the counts of a profile.
func read(profile string) (map[block]int, error) {
	f, err := os.Open(profile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	counts := map[block]int{}
	for s := bufio.NewScanner(f); s.Scan(); {
		m := blockLine.FindStringSubmatch(s.Text())
		if m == nil {
			continue
		}
		begin, _ := strconv.Atoi(m[2])
		col, _ := strconv.Atoi(m[3])
		n, _ := strconv.Atoi(m[7])
		counts[block{m[1], begin, col}] += n
	}
	return counts, nil
}

func sorted(counts map[block]int) []block {
	list := make([]block, 0, len(counts))
	for b := range counts {
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b block) int {
		if c := strings.Compare(a.file, b.file); c != 0 {
			return c
		}
		return (a.begin-b.begin)*1000 + a.col - b.col
	})
	return list
}

// text is the line in which a block begins.
func text(b block) (string, error) {
	source, err := os.ReadFile(b.file)
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(source), "\n")
	if b.begin > len(lines) {
		return "", fmt.Errorf("%s has no line %d: the profile is of another version", b.file, b.begin)
	}
	return strings.TrimSpace(lines[b.begin-1]), nil
}

// reason is why a block is not reached; empty if nobody has said so.
func reason(file, line string) string {
	for entry := range strings.Lines(reasons) {
		where, rest, ok := strings.Cut(strings.TrimSpace(entry), "\t")
		if !ok || strings.HasPrefix(where, "#") {
			continue
		}
		part, why, _ := strings.Cut(rest, "\t")
		if strings.HasSuffix(file, where) && strings.Contains(line, part) {
			return why
		}
	}
	return ""
}
