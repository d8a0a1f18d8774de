"""Manifests become messages and messages manifests, without a change."""

import unittest

from google.protobuf import json_format, struct_pb2

from raygate import documents
from raygate.v2 import cluster_pb2

MANIFEST = {
    "apiVersion": "ray.io/v1",
    "kind": "RayCluster",
    "metadata": {
        "name": "demo",
        "generation": 3,
        "creationTimestamp": "2026-01-31T12:00:00Z",
        "labels": {"team": "a"},
        "deletionGracePeriodSeconds": 0,
    },
    "spec": {
        "suspend": False,
        "headGroupSpec": {
            "rayStartParams": {},
            "template": {
                "spec": {
                    "terminationGracePeriodSeconds": 30,
                    "containers": [
                        {
                            "name": "ray-head",
                            "ports": [{"containerPort": 6379}],
                            "securityContext": {"runAsUser": 2**53, "runAsNonRoot": True},
                            "args": [],
                            "tty": None,
                        }
                    ],
                }
            },
        },
        "workerGroupSpecs": [{"groupName": "cpu", "replicas": 0, "template": {"metadata": {"annotations": {"n": "1"}}}}],
    },
    "status": {
        "head": {"podIP": "10.0.0.1"},
        "stateTransitionTimes": {"ready": "2026-01-31T12:00:00Z"},
        "observedGeneration": 2**62,
    },
}


def types(value):
    """The document with the type of each value beside it: 1 == 1.0 == True in Python."""
    if isinstance(value, dict):
        return {name: types(item) for name, item in value.items()}
    if isinstance(value, list):
        return [types(item) for item in value]
    return (type(value).__name__, value)


class Documents(unittest.TestCase):
    def test_round_trip(self):
        message = documents.from_dict(cluster_pb2.RayCluster, MANIFEST)
        wire = cluster_pb2.RayCluster.FromString(message.SerializeToString())
        self.assertEqual(types(MANIFEST), types(documents.to_dict(wire)))

    def test_json_format_alone_makes_floats(self):
        """Why there is documents: when this fails, protobuf has changed and it may go."""
        message = documents.from_dict(cluster_pb2.RayCluster, MANIFEST)
        spec = json_format.MessageToDict(message.spec.head_group_spec.template)["spec"]
        self.assertIsInstance(spec["terminationGracePeriodSeconds"], float)

    def test_fractions_stay(self):
        self.assertEqual(types({"a": 0.5}), types(documents.to_dict(documents.struct({"a": 0.5}))))

    def test_integers_that_would_change_are_refused(self):
        for manifest, path in (
            ({"spec": {"headGroupSpec": {"template": {"a": [{"b": 2**53 + 1}]}}}}, "spec.headGroupSpec.template.a[0].b"),
            ({"spec": {"workerGroupSpecs": [{}, {"template": {"a": -(2**60)}}]}}, "spec.workerGroupSpecs[1].template.a"),
        ):
            with self.assertRaises(ValueError) as refused:
                documents.from_dict(cluster_pb2.RayCluster, manifest)
            self.assertTrue(str(refused.exception).startswith(path + ": "), refused.exception)
        with self.assertRaises(ValueError):
            documents.struct({"a": 2**53 + 1})

    def test_unknown_fields_are_refused(self):
        with self.assertRaises(json_format.ParseError):
            documents.from_dict(cluster_pb2.RayCluster, {"spec": {"headGroupSpecs": {}}})

    def test_struct_is_a_document(self):
        self.assertEqual({"a": {"b": [1, None]}}, documents.to_dict(documents.struct({"a": {"b": [1, None]}})))
        self.assertEqual({}, documents.to_dict(struct_pb2.Struct()))


if __name__ == "__main__":
    unittest.main()
