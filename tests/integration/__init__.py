"""Tests against a real etcd and kube-apiserver, started by the rig once per session."""
