#!/usr/bin/env bash
# Writes the operator's ClusterRoles from the +kubebuilder:rbac markers that stand on the steps needing each right: what every
# installation needs into operator/config/rbac, and rights that name a role into the component of that name. A marker with
# roleName=raygate-operator-X belongs to operator/config/components/X.
set -euo pipefail
cd "$(dirname "$0")/.."

raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT

go tool -modfile=go.tools.mod controller-gen \
  rbac:roleName=raygate-operator \
  paths=./operator/internal/controller/... \
  paths=./operator/cmd/manager/... \
  output:rbac:dir="$raw"

awk '
function finish() {
  if (name != "") {
    folder = "operator/config/rbac"
    if (name != "raygate-operator") folder = "operator/config/components/" substr(name, length("raygate-operator-") + 1)
    printf "---\n%s", text > (folder "/role.yaml")
  }
  name = text = ""
}
/^---$/ { finish(); next }
/^  name: / { name = $2 }
{ text = text $0 "\n" }
END { finish() }
' "$raw/role.yaml"

# raygate migrate check asks for the same rights.
copies=cmd/raygate/internal/migrate/roles
cp operator/config/rbac/role.yaml "$copies/operator.yaml"
cp operator/config/rbac/leader_election_role.yaml "$copies/leader-election.yaml"
for component in kubernetes-proxy mtls scheduler-plugins token-auth volcano workload-aware-scheduling; do
  cp "operator/config/components/$component/role.yaml" "$copies/$component.yaml"
done
