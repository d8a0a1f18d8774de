#!/usr/bin/env bash
# Writes the operator's ClusterRole from the +kubebuilder:rbac markers that stand on the steps needing each right.
set -euo pipefail
cd "$(dirname "$0")/.."

go tool -modfile=go.tools.mod controller-gen \
  rbac:roleName=raygate-operator \
  paths=./operator/internal/controller/... \
  paths=./operator/cmd/manager/... \
  output:rbac:dir=operator/config/rbac
