"""Creates a Ray cluster from a manifest, waits until the gateway lists it, and prints it, with the generated stubs alone.
raygate.Client (docs/python.md) does the same in two lines.

    pip install ./clients/python pyyaml
    python samples/clients/python/clusters.py samples/raycluster.minimal.yaml

The address is $RAYGATE_GRPC, which the local cluster's settings file sets. $RAYGATE_TOKEN, when set, is sent as bearer token. A manifest may be JSON,
for which PyYAML is not needed. With --delete the cluster is deleted at the end.
"""

import argparse
import json
import os
import sys

import grpc

from raygate import documents, errors
from raygate.v2 import cluster_pb2, cluster_service_pb2 as api, cluster_service_pb2_grpc as stubs


def read(path: str) -> dict:
    with open(path, encoding="utf-8") as file:
        if path.endswith(".json"):
            return json.load(file)
        import yaml

        return yaml.safe_load(file)


def run(manifest: dict, namespace: str, delete: bool) -> None:
    token = os.environ.get("RAYGATE_TOKEN")
    metadata = [("authorization", f"Bearer {token}")] if token else []
    # The local gateway speaks plain text; use grpc.secure_channel for one that does not.
    with grpc.insecure_channel(os.environ.get("RAYGATE_GRPC", "127.0.0.1:8887")) as channel:
        clusters = stubs.ClusterServiceStub(channel)
        cluster = documents.from_dict(cluster_pb2.RayCluster, manifest)
        created = clusters.CreateCluster(api.CreateClusterRequest(namespace=namespace, cluster=cluster), metadata=metadata, timeout=30).cluster
        name = created.metadata.name
        watch = clusters.WatchClusters(api.WatchClustersRequest(namespace=namespace, filter=f"name = {name}"), metadata=metadata, timeout=60)
        for event in watch:
            if event.type == "ADDED":
                print(json.dumps(documents.to_dict(event.cluster), indent=2))
                watch.cancel()
                break
        if delete:
            clusters.DeleteCluster(api.DeleteClusterRequest(namespace=namespace, name=name), metadata=metadata, timeout=30)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", help="YAML or JSON file")
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--delete", action="store_true", help="delete the cluster at the end")
    args = parser.parse_args()
    try:
        run(read(args.manifest), args.namespace, args.delete)
    except grpc.RpcError as error:
        said = errors.details(error)
        print(f"{said.code.name} {said.reason}: {said.message}", file=sys.stderr)
        for violation in said.violations:
            print(f"  {violation.field}: {violation.description}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
