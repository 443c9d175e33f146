"""Builders of test objects: each method sets one property and keeps the others.

Frozen, so that a test may derive several objects from one. Used by the tests of every layer; may
use everything.
"""

from tests.gen.blue_green import blue_green_status
from tests.gen.claims import claim
from tests.gen.clusters import NAMESPACE, Cluster, cluster
from tests.gen.pods import Pod, pod, read_pod
from tests.gen.secrets import LATER, NOW, certificate, secret, unseal_key
from tests.gen.stateful_sets import StatefulSet, read_set, stateful_set
from tests.gen.values import expect, present
from tests.gen.worlds import INSTALLATION, World, resolved, running, world

__all__ = [
    "INSTALLATION", "LATER", "NAMESPACE", "NOW", "Cluster", "Pod", "StatefulSet", "World",
    "blue_green_status", "certificate", "claim", "cluster", "expect", "pod", "present",
    "read_pod", "read_set", "resolved", "running", "secret", "stateful_set", "unseal_key",
    "world",
]  # fmt: skip
