"""managers.workload.objects.scheduling: where the pods of one pool may run."""

from collections.abc import Mapping
from typing import Any

import pytest

from contracts.api.cluster.scheduling import Scheduling
from contracts.api.rules.cluster import violations
from contracts.naming import labels
from managers.workload.objects.scheduling import HOSTNAME, ZONE, scheduling_fields
from tests import gen
from tests.gen.worlds import digest_of
from tests.managers.workload.objects.templates import template

OWN = labels.voters("x")
READERS = labels.read_replicas("x")
SELECTOR = {"labelSelector": {"matchLabels": OWN}}
ZONES = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
GOLD = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["gold"]}]}
            ]
        }
    }
}
TOLERATION = {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}


def fields(**wish: Any) -> dict[str, Any]:
    return scheduling_fields(Scheduling.model_validate(wish) if wish else None, OWN)


def test_the_default_scheduling_has_only_preferences() -> None:
    scheduling = fields()
    assert scheduling.keys() == {"affinity", "topologySpreadConstraints"}
    (term,) = scheduling["affinity"]["podAntiAffinity"][
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]
    assert scheduling["affinity"].keys() == {"podAntiAffinity"}
    assert scheduling["affinity"]["podAntiAffinity"].keys() == {
        "preferredDuringSchedulingIgnoredDuringExecution"
    }
    assert term["weight"] == 100
    assert term["podAffinityTerm"] == {**SELECTOR, "topologyKey": HOSTNAME}
    assert scheduling["topologySpreadConstraints"] == [
        {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway", **SELECTOR}
        for key in (HOSTNAME, ZONE)
    ]


def test_each_pool_counts_its_own_pods() -> None:
    scheduling = scheduling_fields(None, READERS)
    assert str(READERS) in str(scheduling)
    assert str(OWN) not in str(scheduling)


# sentence: (spec.scheduling, expected fields)
ASKED: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "nodes": ({"nodeSelector": {"disk": "gold"}}, {"nodeSelector": {"disk": "gold"}}),
    "taints": ({"tolerations": [TOLERATION]}, {"tolerations": [TOLERATION]}),
    "a priority": ({"priorityClassName": "high"}, {"priorityClassName": "high"}),
    "an affinity replaces ours and leaves the spread": (
        {"affinity": GOLD},
        {"affinity": GOLD, "topologySpreadConstraints": fields()["topologySpreadConstraints"]},
    ),
    "a spread replaces ours and leaves the affinity": (
        {"topologySpreadConstraints": [ZONES]},
        {"topologySpreadConstraints": [{**SELECTOR, **ZONES}], "affinity": fields()["affinity"]},
    ),
    "a spread keeps its own selector": (
        {"topologySpreadConstraints": [{**ZONES, "labelSelector": {"matchLabels": {"a": "b"}}}]},
        {"topologySpreadConstraints": [{**ZONES, "labelSelector": {"matchLabels": {"a": "b"}}}]},
    ),
    "an empty affinity is none": ({"affinity": {}}, {"affinity": fields()["affinity"]}),
}


@pytest.mark.parametrize(("wish", "expected"), ASKED.values(), ids=ASKED)
def test_scheduling_fields_of_the_user(
    wish: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    scheduling = fields(**wish)
    assert {key: scheduling[key] for key in expected} == expected
    assert scheduling.keys() == {"affinity", "topologySpreadConstraints", *expected}


def test_scheduling_fields_change_the_pod_template() -> None:
    spec = template(scheduling={"affinity": GOLD, "priorityClassName": "high"})["spec"]
    assert (spec["affinity"], spec["priorityClassName"]) == (GOLD, "high")
    gold = gen.cluster(scheduling={"affinity": GOLD})
    assert digest_of(gold) != digest_of(gen.cluster())
    assert digest_of(gold.with_spec(scheduling=None)) == digest_of(gen.cluster())


# --- OpenShift ----------------------------------------------------------------------------------


def security(platform: Any, **spec: Any) -> dict[str, Any]:
    context: dict[str, Any] = template(on=platform, **spec)["spec"]["securityContext"]
    return context


IDS = {"runAsUser", "runAsGroup", "fsGroup"}


def test_on_openshift_no_user_and_no_group_is_set() -> None:
    assert security("kubernetes").keys() >= IDS
    there = security("openshift")
    assert not IDS & there.keys()
    assert there["runAsNonRoot"] is True
    assert there["seccompProfile"] == {"type": "RuntimeDefault"}


def test_on_openshift_ids_of_the_user_are_kept() -> None:
    there = security("openshift", securityContext={"fsGroup": 1000650000})
    assert there["fsGroup"] == 1000650000
    assert "runAsUser" not in there


# --- what a template may not carry --------------------------------------------------------------

RESERVED = {
    "openbao-active": "true",
    "openbao-sealed": "false",
    labels.COMPONENT: "backup",
    labels.WORKLOAD_POOL: "other",
    labels.CLUSTER: "other",
}


def refused_fields(**spec: Any) -> set[str]:
    """The fields of a spec that break a rule."""
    return {violation.field for violation in violations(gen.cluster(**spec).read())}


def test_attack_t07_a_spec_cannot_set_labels_of_servers_or_of_the_operator() -> None:
    """Refused by a rule, and omitted if the rule was bypassed."""
    for key, value in RESERVED.items():
        wish = {"labels": {key: value, "team": "a"}}
        assert refused_fields(podMetadata=wish) == {"spec.podMetadata.labels"}
    assert labels.users_own({**RESERVED, "team": "a"}) == {"team": "a"}
    metadata = template(podMetadata={"labels": {"team": "a", labels.INSTANCE: "other"}})["metadata"]
    assert metadata["labels"] == {**labels.server_pod("x"), "team": "a"}


def test_attack_t07_a_spec_cannot_set_annotations_of_the_operator() -> None:
    """A forged rewrap annotation could release a key that the data still needs."""
    for key in (labels.UNSEAL_REWRAPPED, labels.MAINTENANCE):
        wish = {"annotations": {key: "k", "example.org/note": "mine"}}
        assert refused_fields(podMetadata=wish) == {"spec.podMetadata.annotations"}
        assert labels.users_own({key: "k"}) == {}
    kept = template(podMetadata={"annotations": {"example.org/note": "mine"}})["metadata"]
    assert kept["annotations"]["example.org/note"] == "mine"


def test_attack_t07_no_field_bypasses_the_template() -> None:
    """The API has no environment, arguments, volumes, sidecars or host access."""
    for wish in (
        {"env": [{"name": "LD_PRELOAD", "value": "/x"}]},
        {"envFrom": [{"secretRef": {"name": "x"}}]},
        {"args": ["-dev"]},
        {"command": ["sh"]},
        {"volumes": [{"name": "host", "hostPath": {"path": "/"}}]},
        {"containers": [{"name": "side", "image": "x"}]},
        {"sidecars": [{"name": "side", "image": "x"}]},
        {"hostNetwork": True},
        {"hostPID": True},
        {"podTemplate": {"spec": {"hostNetwork": True}}},
        {"scheduling": {"hostNetwork": True, "schedulerName": "mine", "nodeName": "n"}},
        {"securityContext": {"privileged": True, "capabilities": {"add": ["ALL"]}}},
    ):
        try:
            pod_template = template(**wish)
        except Exception:  # noqa: BLE001, S112  refused is as good as ignored
            continue
        assert pod_template["spec"] == template()["spec"], wish
