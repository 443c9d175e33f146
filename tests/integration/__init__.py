"""Tests against a real etcd and kube-apiserver, brought up by the rig once per session."""
