"""Descriptions of objects in typed Python."""

import typing

import pytest

import raygate
from raygate import documents
from raygate.specs import RAY_VERSION
from raygate.v2 import cluster_pb2, cronjob_pb2, serve_pb2


def containers(group):
    return group["template"]["spec"]["containers"]


def test_cluster_is_created(gateway):
    gateway.plan = [(201, {}), (201, {})]
    spec = raygate.ClusterSpec(
        name="demo",
        labels={"team": "a"},
        queue="team-a",
        groups=[raygate.Group("gpu", 2, max_replicas=8, resources=raygate.Resources(cpu=8, accelerator=raygate.Accelerator.gpu(4, "NVIDIA-A100")), env={"A": "b"})],
        more={"suspend": True},
    )
    with raygate.Client(rest=gateway.url, grpc=None) as client:
        client.clusters.create(spec)
        client.clusters.create(raygate.ClusterSpec(name="small", groups=[raygate.Group("gpu", 4)]), profile="a100x4")
    first, second = (body for _, _, _, body in gateway.seen)
    assert first["metadata"] == {"name": "demo", "labels": {"team": "a", "kueue.x-k8s.io/queue-name": "team-a"}}
    (head,) = containers(first["spec"]["headGroupSpec"])
    assert head["image"] == f"rayproject/ray:{RAY_VERSION}" and head["resources"]["limits"] == {"cpu": "1", "memory": "4Gi"}
    (group,) = first["spec"]["workerGroupSpecs"]
    (worker,) = containers(group)
    assert (group["replicas"], group["maxReplicas"], "minReplicas" in group, first["spec"]["suspend"]) == (2, 8, False, True)
    assert worker["resources"]["requests"] == {"cpu": "8", "memory": "4Gi", "nvidia.com/gpu": "4"} and worker["env"] == [{"name": "A", "value": "b"}]
    assert group["template"]["spec"]["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-A100"}
    # With a profile only what is given, so that the gateway adds the rest.
    assert second == {"metadata": {"name": "small", "labels": {"raygate.io/profile": "a100x4"}}, "spec": {"workerGroupSpecs": [{"groupName": "gpu", "replicas": 4}]}}


def test_template_has_all_else():
    template = raygate.manifests.PodTemplate(
        metadata={"labels": {"a": "b"}},
        spec={
            "containers": [
                {"name": "main", "image": "mine", "env": [{"name": "A", "value": "old"}, {"name": "B", "value": "b"}], "resources": {"limits": {"cpu": 2}}},
                {"name": "other"},
            ],
            "nodeSelector": {"zone": "a"},
        },
    )
    asked = raygate.Resources(memory="8Gi", accelerator=raygate.Accelerator.tpu("tpu-v5-lite-podslice", "4x4", chips=4))
    group = raygate.Group(template=template, resources=asked, env={"A": "new"}, tolerations=[{"operator": "Exists"}]).group(raygate.ClusterSpec(image="cluster's"))
    main, other = containers(group)
    assert group["numOfHosts"] == 4 and group["template"]["metadata"] == {"labels": {"a": "b"}} and other == {"name": "other"}
    assert (main["name"], main["image"], main["env"]) == ("main", "mine", [{"name": "B", "value": "b"}, {"name": "A", "value": "new"}])
    assert main["resources"] == {"requests": {"memory": "8Gi", "google.com/tpu": "4"}, "limits": {"cpu": 2, "memory": "8Gi", "google.com/tpu": "4"}}
    assert group["template"]["spec"]["nodeSelector"]["zone"] == "a" and group["template"]["spec"]["nodeSelector"]["cloud.google.com/gke-tpu-topology"] == "4x4"
    assert "cpu" in template["spec"]["containers"][0]["resources"]["limits"] and len(template["spec"]["nodeSelector"]) == 1  # the given one stays


def test_jobs_services_and_schedules():
    job = raygate.JobSpec("python train.py", cluster="demo", runtime_env={"pip": ["torch"]}, gpus=0.5, resources={"A": 1}, retries=2)
    nightly = raygate.CronJobSpec("0 4 * * *", job, name="nightly", time_zone="Europe/Vienna").to_dict()
    service = raygate.ServiceSpec({"applications": [{"name": "a"}]}, cluster=raygate.ClusterSpec(profile="p")).to_dict()
    documents.from_dict(cronjob_pb2.RayCronJob, nightly)
    documents.from_dict(serve_pb2.RayService, service)
    assert nightly["spec"] == {
        "schedule": "0 4 * * *",
        "timeZone": "Europe/Vienna",
        "jobTemplate": {
            "entrypoint": "python train.py",
            "clusterSelector": {"ray.io/cluster": "demo"},
            "runtimeEnvYAML": "pip:\n- torch\n",
            "entrypointNumGpus": 0.5,
            "entrypointResources": '{"A": 1}',
            "backoffLimit": 2,
        },
    }
    assert service["metadata"] == {"generateName": "service-", "labels": {"raygate.io/profile": "p"}}
    assert service["spec"] == {"serveConfigV2": "applications:\n- name: a\n", "rayClusterConfig": {}}
    own = raygate.JobSpec("true").with_profile("p").to_dict()
    assert own["metadata"]["labels"] == {"raygate.io/profile": "p"} and own["spec"] == {"entrypoint": "true", "rayClusterSpec": {}, "shutdownAfterJobFinishes": True}


def test_job_runs_on_a_described_cluster(gateway):
    gateway.plan = [(201, {"metadata": {"name": "run-1"}, "status": {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}})]
    cluster = raygate.ClusterSpec(profile="small", queue="team-a", groups=[raygate.Group(replicas=3)])
    with raygate.Client(rest=gateway.url, grpc=None) as client:
        client.jobs.run("true", cluster=cluster, labels={"cost": "42"}, profile="large", progress=False, logs=False)
    (_, _, _, body) = gateway.seen[0]
    assert body["metadata"]["labels"] == {"cost": "42", "kueue.x-k8s.io/queue-name": "team-a", "raygate.io/profile": "large"}
    assert body["spec"]["rayClusterSpec"] == {"workerGroupSpecs": [{"groupName": "workers", "replicas": 3}]}


def test_cluster_of_a_block():
    cluster = raygate.Cluster("demo", workers=2, gpu=raygate.Accelerator(1, "amd.com/gpu"), node_selector={"pool": "gpu"}, ray_version="2.55.0")
    spec = documents.to_dict(documents.from_dict(cluster_pb2.RayCluster, cluster.manifest))["spec"]
    (head,), (group,) = containers(spec["headGroupSpec"]), spec["workerGroupSpecs"]
    assert head["image"] == "rayproject/ray:2.55.0" and "amd.com/gpu" not in head["resources"]["limits"]
    assert group["template"]["spec"]["nodeSelector"] == {"pool": "gpu"} and containers(group)[0]["resources"]["limits"]["amd.com/gpu"] == "1"
    assert raygate.Cluster(spec=raygate.ClusterSpec(name="other")).manifest["metadata"]["name"] == "other"


def test_kind_of_gpu_is_one_of_the_labels_of_nodes():
    cluster = raygate.Cluster(workers=4, gpu="a100", node_selector={"pool": "gpu"})
    (group,) = documents.to_dict(documents.from_dict(cluster_pb2.RayCluster, cluster.manifest))["spec"]["workerGroupSpecs"]
    pod = group["template"]["spec"]
    assert group["replicas"] == 4 and containers(group)[0]["resources"]["limits"]["nvidia.com/gpu"] == "1" and pod["nodeSelector"] == {"pool": "gpu"}
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    found = {label["key"]: (label["operator"], label["values"]) for term in terms for label in term["matchExpressions"]}
    assert len(terms) == len(found) == 3 and found["karpenter.k8s.aws/instance-gpu-name"] == ("In", ["a100"])
    assert found["cloud.google.com/gke-accelerator"] == ("In", ["nvidia-tesla-a100", "nvidia-a100-80gb"])
    assert found["nvidia.com/gpu.product"][1][:2] == ["NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-SXM4-80GB"]
    # The template's own terms hold as well.
    zone, other = {"key": "zone", "operator": "In", "values": ["a"]}, {"key": "spot", "operator": "DoesNotExist"}
    required: dict = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [zone]}, {"matchFields": [other]}]}}
    template = raygate.manifests.PodTemplate(spec={"affinity": {"podAffinity": {}, "nodeAffinity": required}})
    group = raygate.Group(template=template, resources=raygate.Resources(accelerator=raygate.Accelerator.gpu(8, kind="a10"))).group(raygate.ClusterSpec())
    affinity = group["template"]["spec"]["affinity"]
    terms = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert affinity["podAffinity"] == {} and [len(term["matchExpressions"]) for term in terms] == [2, 2, 1, 1] and terms[3]["matchFields"] == [other]
    assert len(required["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0]["matchExpressions"]) == 1
    assert set(typing.get_args(raygate.GPUKind)) == {kind for kind in typing.get_args(raygate.GPUKind) if raygate.Accelerator.gpu(kind=kind).any_node_label}
    with pytest.raises(ValueError, match=r"'a1000' is not a kind of GPU: use a10, a100, .*product="):
        raygate.Cluster(gpu="a1000")


@pytest.mark.parametrize("stopped", [{"submissionId": "s", "status": "RUNNING"}, None])
def test_interrupted_job_is_stopped(gateway, stopped):
    shown = []

    def interrupt(state):
        shown.append(state)
        if state == "s: RUNNING":
            raise KeyboardInterrupt

    running = {"submissionId": "s", "status": "RUNNING"}
    gateway.plan = [(201, running), (200, stopped) if stopped else (403, {"code": 7, "message": "no"})]
    with raygate.Client(rest=gateway.url, grpc=None) as client, pytest.raises(KeyboardInterrupt):
        client.jobs.run("sleep 9", cluster="demo", name="s", progress=interrupt, stop_on_interrupt=True)
    assert gateway.seen[-1][1].endswith("/s:stop")
    assert shown[-1] == "s is asked to stop" if stopped else shown[-1].startswith("s goes on: PERMISSION_DENIED: no; client.submissions.stop")


def test_job_is_followed(gateway):
    failed = {"metadata": {"name": "run-1", "namespace": "team"}, "status": {"jobDeploymentStatus": "Failed", "jobStatus": "FAILED", "message": "no room"}}
    gateway.plan = [(200, {**failed, "status": {}}), (200, failed), (200, {"findings": [{"reason": "Quota"}]})]
    with raygate.Client(rest=gateway.url, grpc=None) as client, pytest.raises(raygate.JobFailedError, match="no room") as error:
        client.jobs.follow("run-1", namespace="team", progress=False, logs=False)
    assert error.value.diagnosis[0].reason == "Quota"
