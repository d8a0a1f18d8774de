// Package v2 is version 2 of the REST API: its routes, bodies, errors and answers. It only uses the descriptors of the kinds' services.
package v2
