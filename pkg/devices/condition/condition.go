package condition

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
)

// MaxCost limits a condition in units of CEL's cost model, for the estimate with the largest possible Pod and for the evaluation. The whole
// budget takes some tens of milliseconds; a usual condition takes about ten microseconds (BenchmarkHolds).
const MaxCost = 30_000

// MaxLength bounds the text of a condition, in bytes.
const MaxLength = 4096

// Input is the input of a condition.
type Input struct {
	// Container is the name of the container.
	Container string
	// Init is an init container that ends; Sidecar is one that keeps running.
	Init, Sidecar, Privileged bool
	// Limits and Requests are those of the container, as written.
	Limits, Requests map[string]string
	// Labels and Annotations are those of the Pod.
	Labels, Annotations map[string]string
	// Amount returns how much of a field the container requests, 0 for none. If Amount is nil, the container requests nothing.
	Amount func(field string) int64
}

// Names of variables. Amounts are requestPrefix and the name of the field.
const (
	containerName       = "container.name"
	containerInit       = "container.init"
	containerSidecar    = "container.sidecar"
	containerPrivileged = "container.privileged"
	containerLimits     = "container.limits"
	containerRequests   = "container.requests"
	podLabels           = "labels"
	podAnnotations      = "annotations"
	requestPrefix       = "request."
)

// Condition is a compiled condition. It is safe for concurrent use.
type Condition struct {
	text    string
	program cel.Program
}

// environment is the CEL environment of families without fields. The optional types are for keys that may be missing:
// annotations[?"key"].orValue("").
var environment = sync.OnceValues(func() (*cel.Env, error) {
	texts := cel.MapType(cel.StringType, cel.StringType)
	return cel.NewEnv(
		cel.OptionalTypes(),
		cel.ParserExpressionSizeLimit(MaxLength),
		cel.Variable(containerName, cel.StringType),
		cel.Variable(containerInit, cel.BoolType),
		cel.Variable(containerSidecar, cel.BoolType),
		cel.Variable(containerPrivileged, cel.BoolType),
		cel.Variable(containerLimits, texts),
		cel.Variable(containerRequests, texts),
		cel.Variable(podLabels, texts),
		cel.Variable(podAnnotations, texts),
	)
})

// Compile parses a condition that may use the amounts of these fields. The error describes what is wrong.
func Compile(text string, fields []string) (*Condition, error) {
	if len(text) > MaxLength {
		return nil, fmt.Errorf("is %d bytes, but must be at most %d", len(text), MaxLength)
	}
	env, err := environment()
	if err != nil {
		return nil, err
	}
	amounts := make([]cel.EnvOption, len(fields))
	for i, f := range fields {
		amounts[i] = cel.Variable(requestPrefix+f, cel.IntType)
	}
	if env, err = env.Extend(amounts...); err != nil {
		return nil, err
	}
	ast, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, err
	}
	if !ast.OutputType().IsExactType(cel.BoolType) {
		return nil, fmt.Errorf("is of type %s, but must be true or false", ast.OutputType())
	}
	cost, err := env.EstimateCost(ast, sizes{})
	if err != nil {
		return nil, fmt.Errorf("estimating the cost: %w", err)
	}
	if cost.Max > MaxCost {
		return nil, fmt.Errorf("may cost %d for a large Pod, but must cost at most %d: look at single keys, and not at all of them", cost.Max, MaxCost)
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(MaxCost))
	if err != nil {
		return nil, err
	}
	return &Condition{text: text, program: program}, nil
}

// Holds evaluates the condition. It returns an error if the result is undefined, for example because of a missing key.
func (c *Condition) Holds(in *Input) (bool, error) {
	out, _, err := c.program.Eval(variables{in})
	if err != nil {
		remedy := ""
		if strings.Contains(err.Error(), "no such key") { // of which CEL has no kind of error
			remedy = `; a key that may be missing is asked for by labels[?"key"].orValue(""), or after "key" in labels &&`
		}
		return false, fmt.Errorf("%s: %w%s", c.text, err, remedy)
	}
	holds, ok := out.Value().(bool)
	if !ok {
		return false, errors.New(c.text + ": is neither true nor false")
	}
	return holds, nil
}
