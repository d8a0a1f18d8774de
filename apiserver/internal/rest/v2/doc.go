// Package v2 is version 2 of the REST API: its routes, bodies, errors and answers. It knows the kinds by the descriptors of their services alone.
package v2
