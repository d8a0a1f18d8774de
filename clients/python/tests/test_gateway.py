"""Calls a running gateway: $RAYGATE_GRPC, in the namespace $RAYGATE_NAMESPACE. test/e2e starts one and runs this."""

import os
import unittest
import uuid

import grpc
from conftest import IMAGE

from raygate import documents, errors
from raygate.v2 import cluster_pb2, cluster_service_pb2 as api, cluster_service_pb2_grpc as stubs

ADDRESS = os.environ.get("RAYGATE_GRPC")
NAMESPACE = os.environ.get("RAYGATE_NAMESPACE", "default")
LIMIT = 60  # seconds of a call


def manifest(name: str) -> dict:
    return {
        "metadata": {"name": name},
        "spec": {
            "suspend": True,
            "headGroupSpec": {
                "template": {
                    "spec": {
                        "terminationGracePeriodSeconds": 30,
                        "containers": [{"name": "ray-head", "image": IMAGE, "ports": [{"name": "gcs", "containerPort": 6379}]}],
                    }
                }
            },
        },
    }


class Bearer(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    """Sends $RAYGATE_TOKEN, when set, with each call."""

    def _call(self, continuation, details, request):
        token = os.environ.get("RAYGATE_TOKEN")
        metadata = [*(details.metadata or []), *([("authorization", f"Bearer {token}")] if token else [])]
        return continuation(details._replace(metadata=metadata), request)

    intercept_unary_unary = _call
    intercept_unary_stream = _call


@unittest.skipUnless(ADDRESS, "RAYGATE_GRPC names no gateway")
class Gateway(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.channel = grpc.insecure_channel(ADDRESS)
        cls.addClassCleanup(cls.channel.close)
        cls.clusters = stubs.ClusterServiceStub(grpc.intercept_channel(cls.channel, Bearer()))

    def create(self, **more):
        name = f"py-{uuid.uuid4().hex[:8]}"
        cluster = documents.from_dict(cluster_pb2.RayCluster, manifest(name))
        created = self.clusters.CreateCluster(api.CreateClusterRequest(namespace=NAMESPACE, cluster=cluster, **more), timeout=LIMIT).cluster
        self.assertEqual(name, created.metadata.name)
        return created

    def failure(self, call, request):
        with self.assertRaises(grpc.RpcError) as failed:
            call(request, timeout=LIMIT)
        return errors.details(failed.exception)

    def test_integers_stay_integers(self):
        name = self.create().metadata.name
        got = self.clusters.GetCluster(api.GetClusterRequest(namespace=NAMESPACE, name=name), timeout=LIMIT).cluster
        shown = documents.to_dict(got)
        pod = shown["spec"]["headGroupSpec"]["template"]["spec"]
        self.assertEqual("6379", repr(pod["containers"][0]["ports"][0]["containerPort"]))
        self.assertEqual("30", repr(pod["terminationGracePeriodSeconds"]))
        self.assertEqual("1", repr(shown["metadata"]["generation"]))
        # What was read can be created again under another name.
        shown["metadata"] = {"name": name + "-copy"}
        copy = documents.from_dict(cluster_pb2.RayCluster, shown)
        made = self.clusters.CreateCluster(api.CreateClusterRequest(namespace=NAMESPACE, cluster=copy), timeout=LIMIT).cluster
        self.assertEqual(got.spec, made.spec)

    def test_list_page_by_page(self):
        names = {self.create().metadata.name for _ in range(3)}
        seen, token = [], ""
        while True:
            page = self.clusters.ListClusters(api.ListClustersRequest(namespace=NAMESPACE, page_size=2, page_token=token), timeout=LIMIT)
            seen += [item.metadata.name for item in page.items]
            token = page.next_page_token
            if not token:
                break
        self.assertLessEqual(names, set(seen))
        self.assertEqual(len(seen), len(set(seen)))

    def test_watch(self):
        watch = self.clusters.WatchClusters(api.WatchClustersRequest(namespace=NAMESPACE, skip_initial=True), timeout=LIMIT)
        self.addCleanup(watch.cancel)
        self.assertEqual("SYNCED", next(watch).type)
        name = self.create().metadata.name
        event = next(e for e in watch if e.HasField("cluster") and e.cluster.metadata.name == name)
        self.assertEqual("ADDED", event.type)
        self.assertTrue(event.resume_token)
        self.clusters.DeleteCluster(api.DeleteClusterRequest(namespace=NAMESPACE, name=name), timeout=LIMIT)
        next(e for e in watch if e.type == "DELETED" and e.cluster.metadata.name == name)

    def test_update_by_mask(self):
        name = self.create().metadata.name
        request = api.UpdateClusterRequest(namespace=NAMESPACE, name=name, cluster=documents.from_dict(cluster_pb2.RayCluster, {"metadata": {"labels": {"a": "b"}}}))
        request.update_mask.paths.append("metadata.labels")
        updated = self.clusters.UpdateCluster(request, timeout=LIMIT).cluster
        self.assertEqual({"a": "b"}, dict(updated.metadata.labels))
        self.assertTrue(updated.spec.suspend)

    def test_request_id_makes_a_create_safe_to_repeat(self):
        key, name = str(uuid.uuid4()), f"py-{uuid.uuid4().hex[:8]}"
        cluster = documents.from_dict(cluster_pb2.RayCluster, manifest(name))
        uids = {
            self.clusters.CreateCluster(api.CreateClusterRequest(namespace=NAMESPACE, cluster=cluster, request_id=key), timeout=LIMIT).cluster.metadata.uid
            for _ in range(2)
        }
        self.assertEqual(1, len(uids))

    def test_every_violation_is_told(self):
        wrong = manifest("py-wrong")
        wrong["spec"]["workerGroupSpecs"] = [{"groupName": "cpu", "minReplicas": 3, "maxReplicas": 1, "template": {"spec": {"containers": []}}}]
        cluster = documents.from_dict(cluster_pb2.RayCluster, wrong)
        said = self.failure(self.clusters.CreateCluster, api.CreateClusterRequest(namespace=NAMESPACE, cluster=cluster))
        self.assertEqual((grpc.StatusCode.INVALID_ARGUMENT, "INVALID_SPEC"), (said.code, said.reason))
        fields = {v.field for v in said.violations}
        self.assertGreaterEqual(len(fields), 2, said)
        self.assertTrue(all(f.startswith("spec.workerGroupSpecs[0]") for f in fields), said)
        self.assertTrue(all(v.description and v.reason for v in said.violations), said)
        self.assertTrue(said.request_id)

    def test_not_found(self):
        said = self.failure(self.clusters.GetCluster, api.GetClusterRequest(namespace=NAMESPACE, name="nope"))
        self.assertEqual((grpc.StatusCode.NOT_FOUND, "NOT_FOUND", []), (said.code, said.reason, said.violations))


if __name__ == "__main__":
    unittest.main()
