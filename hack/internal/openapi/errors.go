package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/raygate/raygate/hack/failures"
)

// describeErrors lists the errors of each operation by status, with an example of each reason. Operations share equal parts.
func describeErrors(doc object) {
	components := doc["components"].(object)
	examples, responses := components["examples"].(object), object{}
	components["responses"] = responses
	for _, f := range failures.All {
		examples[exampleName(f)] = object{"summary": f.When, "value": exampleError(f)}
	}
	known := map[string]string{} // content to name
	eachOperation(doc, func(path, verb string, op object) {
		byStatus := map[int][]failures.Failure{}
		for _, f := range failures.Of(methodOf(path, verb, op)) {
			byStatus[f.HTTP()] = append(byStatus[f.HTTP()], f)
		}
		into := op["responses"].(object)
		for status, list := range byStatus {
			response := errorResponse(status, list)
			content := response["description"].(string)
			name, ok := known[content]
			if !ok {
				name = strings.ReplaceAll(http.StatusText(status), " ", "")
				if _, taken := responses[name]; taken {
					name += "." + methodName(op)
				}
				known[content] = name
				responses[name] = response
			}
			into[strconv.Itoa(status)] = object{"$ref": "#/components/responses/" + name}
		}
		if other, ok := into["default"].(object); ok {
			other["description"] = "Any other error."
		}
	})
}

func exampleName(f failures.Failure) string {
	if f.Reason == "VERSION_NOT_REACHED" || f.Reason == "BODY_INCOMPLETE" { // there are two of each
		return fmt.Sprintf("%s.%d", f.Reason, f.HTTP())
	}
	return f.Reason
}

func errorResponse(status int, list []failures.Failure) object {
	var lines []string
	examples := object{}
	headers := object{"X-Request-Id": object{"description": "Id of the request, which the gateway logs.", "schema": object{"type": "string"}}}
	for _, f := range list {
		lines = append(lines, fmt.Sprintf("* `%s` (%s): %s.", f.Reason, code.Code(f.Code), f.When))
		examples[exampleName(f)] = object{"$ref": "#/components/examples/" + exampleName(f)}
		if f.Retry {
			headers["Retry-After"] = object{"description": "Seconds after which to try again, where that makes sense.", "schema": object{"type": "integer"}}
		}
	}
	if status == http.StatusUnauthorized {
		headers["WWW-Authenticate"] = object{"description": "How to authenticate.", "schema": object{"type": "string"}}
	}
	schema := object{"$ref": "#/components/schemas/google.rpc.Status"}
	return object{
		"description": strings.Join(lines, "\n"),
		"headers":     headers,
		"content":     object{"application/json": object{"schema": schema, "examples": examples}, "application/yaml": object{"schema": schema}},
	}
}

// exampleError is the google.rpc.Status of a failure.
func exampleError(f failures.Failure) object {
	const prefix = "type.googleapis.com/google.rpc."
	details := []any{object{"@type": prefix + "ErrorInfo", "reason": f.Reason, "domain": "raygate.io"}}
	for _, field := range f.Fields {
		details = append(details, object{"@type": prefix + "BadRequest", "fieldViolations": []any{object{"field": field, "description": "what is wrong, and what would be right", "reason": f.Reason}}})
	}
	if f.Retry {
		details = append(details, object{"@type": prefix + "RetryInfo", "retryDelay": "1s"})
	}
	details = append(details, object{"@type": prefix + "RequestInfo", "requestId": "3f2c8a1e-5d2b-4c61-9a34-0b1c2d3e4f50"})
	return object{"code": int(f.Code), "message": f.When, "details": details}
}

// methodOf returns the known properties of the RPC of an operation.
func methodOf(path, verb string, op object) failures.Method {
	_, body := op["requestBody"]
	return failures.Method{Name: methodName(op), Mutates: verb != "get", Body: body, Named: strings.Contains(path, "{name}")}
}

// methodName returns the name of the RPC of an operation. The id of the operation has the name of the service before it, and a number after
// it for additional routes.
func methodName(op object) string {
	return strings.Split(op["operationId"].(string), "_")[1]
}
