"""Simulates the kubelet and the OpenBao servers of many clusters, for measurements of the operator.

    python -m e2e.simulation KUBECONFIG

| part | real or simulated |
|---|---|
| API server, etcd, StatefulSet controller, garbage collector, TLS | real |
| disruption controller | real |
| scheduler, kubelet, OpenBao servers and the labels that they write | simulated |

Volumes stay pending. Uses `runtime` as a client, and names and labels of the product. Run by
e2e.cluster_fleet, in the network namespace that e2e.simulation.control_plane enters.
"""
