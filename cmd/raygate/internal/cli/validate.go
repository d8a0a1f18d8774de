package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/raygate/raygate/cmd/raygate/internal/check"
	"github.com/raygate/raygate/cmd/raygate/internal/manifestfile"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
	"github.com/raygate/raygate/pkg/raydevices"
	"github.com/raygate/raygate/pkg/validation"
)

type validateOptions struct {
	files            []string
	output           string
	warningsAsErrors bool
	featureGates     []string
	registry         registryFlag
	facts            bool
}

func newValidate() *cobra.Command {
	o := &validateOptions{}
	cmd := &cobra.Command{
		Use:   "validate -f FILE...",
		Short: "Check Ray objects in files",
		Long: `Check Ray objects in YAML or JSON files, without a cluster.

Each object is decoded strictly: misspelt and duplicate fields are errors. It gets the
defaults of the API server, and is checked by the rules of operator, webhook and gateway.
All problems are reported at once, each with its line, the path of the field, the remedy,
and the id of the rule (docs/validation.md). A missing field is reported at the line of
its object.

The report also lists Pods that device admission would refuse. This is an error with
--device-registry, and otherwise a warning. With the flag, warnings of device admission
are also reported.

Files can contain several documents and lists. Other objects are skipped.

Exit code: 0 no errors, 1 errors, 2 unreadable input, or neither YAML nor JSON.`,
		Example: `  # One file
  raygate validate -f cluster.yaml

  # All .yaml, .yml and .json files below a directory
  raygate validate -f manifests/

  # The output of a tool
  helm template my-chart | raygate validate -f -

  # For a program, with warnings as errors
  raygate validate -f cluster.yaml -o json --warnings-as-errors

  # For an operator that runs with a feature gate
  raygate validate -f cluster.yaml --feature-gates RayClusterNetworkPolicy=true

  # For a cluster with device admission
  raygate validate -f cluster.yaml --device-registry shipped`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.files = append(o.files, args...)
			o.registry.given = cmd.Flags().Changed(registryName)
			return o.run(cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringSliceVarP(&o.files, "filename", "f", nil, "files and directories to check; - is standard input")
	f.StringVarP(&o.output, "output", "o", "text", "output format: text or json")
	f.BoolVar(&o.warningsAsErrors, "warnings-as-errors", false, "exit with code 1 for warnings, too")
	f.StringSliceVar(&o.featureGates, "feature-gates", nil, "feature gates of the operator that differ from its defaults, for example RayClusterMTLS=true")
	o.registry.add(f)
	f.BoolVar(&o.facts, "device-autoscaler-facts", false, "the operator runs with this flag")
	return cmd
}

func (o *validateOptions) run(stdin io.Reader, stdout io.Writer) error {
	gates, err := validation.ParseGates(o.featureGates...)
	if err != nil {
		return err
	}
	devices, err := o.devices()
	if err != nil {
		return err
	}
	if len(o.files) == 0 {
		return errors.New("name files with -f, or - for standard input")
	}
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("unknown output %q: use text or json", o.output)
	}
	sources, err := manifestfile.Read(o.files, stdin)
	if err != nil {
		return err
	}
	report := newReport(sources, validation.Options{Gates: gates}, devices)
	if o.output == "json" {
		err = output.Report(stdout, report)
	} else {
		err = report.printText(stdout)
	}
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return report.failure(o.warningsAsErrors)
}

// devices returns the device admission of the flags; nil if there is none.
func (o *validateOptions) devices() (*check.Devices, error) {
	program, err := o.registry.read()
	if err != nil || program == nil {
		return nil, err
	}
	return &check.Devices{Program: program, Installed: o.registry.given, Options: raydevices.Options{Facts: o.facts}}, nil
}

// report is the outcome for all files.
type report struct {
	// Objects counts the Ray objects that were checked.
	Objects  int             `json:"objects"`
	Errors   int             `json:"errors"`
	Warnings int             `json:"warnings"`
	Skipped  int             `json:"skipped"`
	Findings []check.Finding `json:"findings"`
	// unreadable reports that some document is not valid YAML or JSON.
	unreadable bool
}

func newReport(sources []manifestfile.Source, o validation.Options, devices *check.Devices) *report {
	r := &report{Findings: []check.Finding{}}
	for _, source := range sources {
		for _, document := range manifestfile.Documents(source) {
			result := check.Document(document, o, devices)
			if result.Checked {
				r.Objects++
			}
			r.unreadable = r.unreadable || result.Unreadable
			for _, f := range result.Findings {
				switch f.Severity {
				case check.Error:
					r.Errors++
				case check.Warning:
					r.Warnings++
				case check.Note:
					r.Skipped++
				}
			}
			r.Findings = append(r.Findings, result.Findings...)
		}
	}
	return r
}

// failure returns the error that decides about the exit code; nil for files that pass.
func (r *report) failure(warningsAsErrors bool) error {
	switch {
	case r.unreadable:
		return errUnreadable
	case r.Errors > 0, warningsAsErrors && r.Warnings > 0:
		return errFindings
	}
	return nil
}

func (r *report) printText(w io.Writer) error {
	var b strings.Builder
	heading := ""
	for _, f := range r.Findings {
		if h := headingOf(f); h != heading {
			heading = h
			b.WriteString(h + "\n")
		}
		fmt.Fprintf(&b, "  %s:%d: %s: ", f.File, f.Line, f.Severity)
		if f.Field != "" {
			b.WriteString(f.Field + ": ")
		}
		b.WriteString(f.Message)
		if f.Rule != "" {
			b.WriteString(" [" + f.Rule + "]")
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s checked: %s, %s", output.Count(r.Objects, "Ray object"), output.Count(r.Errors, "error"), output.Count(r.Warnings, "warning"))
	if r.Skipped > 0 {
		fmt.Fprintf(&b, "; %s skipped", output.Count(r.Skipped, "other object"))
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// headingOf names the object: file:line, kind, namespace/name.
func headingOf(f check.Finding) string {
	h := fmt.Sprintf("%s:%d", f.File, f.DocumentLine)
	if f.Item > 0 {
		h += fmt.Sprintf("[%d]", f.Item)
	}
	if f.Kind != "" {
		h += " " + f.Kind
	}
	name := f.Name
	if f.Namespace != "" {
		name = f.Namespace + "/" + name
	}
	if name != "" {
		h += " " + name
	}
	return h
}
