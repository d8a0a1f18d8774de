"""Client of raygate, the gateway for Ray on Kubernetes.

raygate.v2 holds the generated messages and stubs, raygate.documents turns messages into Kubernetes manifests and back, raygate.errors reads what
the gateway says about a failed call.
"""
