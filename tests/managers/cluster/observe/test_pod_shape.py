"""managers.cluster.observe.pod_shape: a cached pod has all fields that are read, and few others."""

import copy
from datetime import timedelta
from typing import Any

import orjson
import pytest

from contracts.owned_kinds import POD_FIELDS
from contracts.pools.voter_pool import ServerPool
from managers.cluster.observe.from_objects import server_facts
from managers.cluster.observe.pod_shape import without_container_details
from runtime.builtin_kinds import POD
from runtime.cache.selection import Selection
from runtime.types import Object
from tests.gen import pods as gen

SHAPE = Selection(POD, fields=POD_FIELDS, transform=without_container_details)

PODS = {
    "fresh": gen.pod(),
    "leader": gen.pod().ready(leading=True),
    "gated": gen.pod().with_gates("openbao.org/fence", "other"),
    "reloading": gen.pod().reloading("a" * 64, 0, asked=7),
    "placed": gen.pod().on("node-1").under("account").running("registry/openbao:2.7.2"),
    "crashed": gen.pod().waiting("CrashLoopBackOff", "back-off"),
    "old": gen.pod().born(timedelta(days=1)).in_maintenance(),
}


def whole(pod: gen.Pod) -> Object:
    """The pod with the fields that a pod template and the kubelet add."""
    obj = copy.deepcopy(pod.object())
    spec: dict[str, Any] = obj["spec"]
    for container in spec["containers"]:
        container["env"] = [{"name": f"V{n}", "value": "x" * 40} for n in range(20)]
        container["volumeMounts"] = [{"name": f"v{n}", "mountPath": f"/{n}"} for n in range(8)]
    spec["containers"].append({"name": "sidecar", "image": "mesh", "resources": {}})
    spec["volumes"] = [{"name": "tls", "secret": {"secretName": "x-tls-server"}}]
    spec["tolerations"] = [{"key": f"k{n}", "operator": "Exists"} for n in range(5)]
    spec["affinity"] = {"podAntiAffinity": {}}
    return obj


@pytest.mark.parametrize("case", PODS)
def test_all_fields_that_are_read_are_kept(case: str) -> None:
    obj = whole(PODS[case])
    kept = SHAPE.shape(obj)
    pools = (ServerPool("x"),)
    assert server_facts(pools, [kept]) == server_facts(pools, [obj])
    assert SHAPE.shape(kept) == kept
    assert len(orjson.dumps(kept)) < len(orjson.dumps(obj)) / 2
    assert [container["name"] for container in kept["spec"]["containers"]] == ["openbao", "sidecar"]


@pytest.mark.parametrize("spec", [None, {}, {"containers": None}, {"containers": ["odd"]}])
def test_a_malformed_pod_does_not_stop_the_watch(spec: Any) -> None:
    without_container_details({"metadata": {"name": "x"}, "spec": spec})
