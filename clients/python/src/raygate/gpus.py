"""Kinds of NVIDIA GPUs, and how clouds label their nodes."""

from __future__ import annotations

from typing import Literal, get_args

GPUKind = Literal["a10", "a100", "a10g", "b200", "gb200", "h100", "h200", "l4", "l40s", "t4", "v100"]
"""A model of NVIDIA, with any memory and any connector."""

# The products of each kind, as GPU feature discovery writes them.
_PRODUCTS: dict[GPUKind, list[str]] = {
    "a10": ["NVIDIA-A10"],
    "a100": ["NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-PCIE-40GB", "NVIDIA-A100-80GB-PCIe"],
    "a10g": ["NVIDIA-A10G"],
    "b200": ["NVIDIA-B200"],
    "gb200": ["NVIDIA-GB200"],
    "h100": ["NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-PCIe", "NVIDIA-H100-NVL"],
    "h200": ["NVIDIA-H200", "NVIDIA-H200-NVL"],
    "l4": ["NVIDIA-L4"],
    "l40s": ["NVIDIA-L40S"],
    "t4": ["Tesla-T4"],
    "v100": ["Tesla-V100-SXM2-16GB", "Tesla-V100-SXM2-32GB", "Tesla-V100-SXM3-32GB", "Tesla-V100-PCIE-16GB", "Tesla-V100-PCIE-32GB"],
}
# The names of GKE, for the kinds that it has.
_GKE: dict[GPUKind, list[str]] = {
    "a100": ["nvidia-tesla-a100", "nvidia-a100-80gb"],
    "b200": ["nvidia-b200"],
    "gb200": ["nvidia-gb200"],
    "h100": ["nvidia-h100-80gb", "nvidia-h100-mega-80gb"],
    "h200": ["nvidia-h200-141gb"],
    "l4": ["nvidia-l4"],
    "t4": ["nvidia-tesla-t4"],
    "v100": ["nvidia-tesla-v100"],
}


def node_labels(kind: GPUKind) -> dict[str, list[str]]:
    """Return the labels of nodes with such GPUs, with their values: of the GPU operator or GPU feature discovery, of GKE, and of Karpenter on AWS. A node
    has one of them at least. Raises ValueError for another kind."""
    if kind not in _PRODUCTS:
        raise ValueError(f"{kind!r} is not a kind of GPU: use {', '.join(get_args(GPUKind))}, or raygate.Accelerator.gpu(product=...) with a label of the nodes")
    labels: dict[str, list[str]] = {
        "nvidia.com/gpu.product": _PRODUCTS[kind],
        "cloud.google.com/gke-accelerator": _GKE.get(kind, []),
        "karpenter.k8s.aws/instance-gpu-name": [kind],
    }
    return {label: values for label, values in labels.items() if values}
