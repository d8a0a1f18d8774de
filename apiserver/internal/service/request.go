package service

import (
	"context"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/grpc/metadata"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// minVersionKey is the metadata key by which a client says what it has seen already, at this replica or another.
const minVersionKey = "x-min-resource-version"

func readOptions(ctx context.Context) (store.ReadOptions, error) {
	values := metadata.ValueFromIncomingContext(ctx, minVersionKey)
	if len(values) == 0 {
		return store.ReadOptions{}, nil
	}
	return store.ReadOptions{MinVersion: values[0]}, checkVersion(minVersionKey, values[0])
}

// checkNamespace refuses what cannot be a namespace; the API server would be asked for a path that does not exist.
func checkNamespace(namespace string) error {
	if namespace == "" {
		return rpcstatus.BadField("namespace", "required")
	}
	if bad := validation.IsDNS1123Label(namespace); len(bad) > 0 {
		return rpcstatus.BadField("namespace", "%q is not a namespace: %s", namespace, strings.Join(bad, "; "))
	}
	return nil
}

func checkOptionalNamespace(namespace string) error {
	if namespace == "" {
		return nil
	}
	return checkNamespace(namespace)
}

func checkName(namespace, name string) error {
	if err := checkNamespace(namespace); err != nil {
		return err
	}
	if name == "" {
		return rpcstatus.BadField("name", "required")
	}
	if len(name) > validation.DNS1123SubdomainMaxLength {
		return rpcstatus.BadField("name", "must be no more than %d bytes", validation.DNS1123SubdomainMaxLength)
	}
	if bad := validation.IsDNS1123Subdomain(name); len(bad) > 0 {
		return rpcstatus.BadField("name", "%q is not a name: %s", name, strings.Join(bad, "; "))
	}
	return nil
}

// checkVersion refuses what is no version: the API server answers it as a failure of its own, which clients try again and again.
func checkVersion(path, version string) error {
	if version == "" {
		return nil
	}
	if _, err := strconv.ParseUint(version, 10, 64); err != nil {
		return rpcstatus.BadField(path, "%q is not a version: send the metadata.resourceVersion or the ETag that you read", version)
	}
	return nil
}

func checkRequestID(id string) error {
	if id == "" {
		return nil
	}
	if _, err := uuid.Parse(id); err != nil || len(id) != 36 {
		return rpcstatus.BadField("request_id", "%q is not a UUID such as 0f3b0c3e-6f5f-4b0e-9f0b-3c1c5d0d7a11", id)
	}
	return nil
}

func parseSelector(text string) (labels.Selector, error) {
	if text == "" {
		return nil, nil
	}
	sel, err := labels.Parse(text)
	if err != nil {
		return nil, rpcstatus.BadField("label_selector", "%v", err)
	}
	return sel, nil
}

func parseOrder(text string) (store.Order, error) {
	o, err := store.ParseOrder(text)
	if err != nil {
		return o, rpcstatus.BadField("order_by", "%v", err)
	}
	return o, nil
}

// parseView returns whether the view is FULL; empty means fallback.
func parseView(view string, fallback bool) (bool, error) {
	switch view {
	case "":
		return fallback, nil
	case "FULL":
		return true, nil
	case "BASIC":
		return false, nil
	}
	return false, rpcstatus.BadField("view", "%q is not a view: use BASIC or FULL", view)
}
