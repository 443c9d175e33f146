"""spec.securityContext and spec.workloadHardening reach the pod, field by field."""

from typing import Any

import pytest

from contracts.builders.security_context import pod_security
from managers.workload.objects.pod import pod_template
from tests import gen


def _security(**spec: Any) -> dict[str, Any]:
    template = pod_template(
        gen.resolved(gen.cluster(**spec)), digest="d", reload="r", first_boot=False
    )
    context: dict[str, Any] = template["spec"]["securityContext"]
    return context


def test_without_a_wish_the_pod_is_restricted() -> None:
    assert _security() == pod_security()


def test_a_field_replaces_ours_and_the_others_stay() -> None:
    expected = {"runAsUser": 2000, "fsGroup": 3000, "seLinuxOptions": {"level": "s0:c1"}}
    assert _security(securityContext=expected) == {**pod_security(), **expected}


@pytest.mark.parametrize(
    ("spec", "profile"),
    [
        ({}, None),
        ({"workloadHardening": {"appArmorEnabled": False}}, None),
        ({"workloadHardening": {"appArmorEnabled": True}}, {"type": "RuntimeDefault"}),
        (
            {
                "workloadHardening": {"appArmorEnabled": True},
                "securityContext": {
                    "appArmorProfile": {"type": "Localhost", "localhostProfile": "bao"}
                },
            },
            {"type": "Localhost", "localhostProfile": "bao"},
        ),
    ],
)
def test_apparmor_is_asked_for_by_one_word_or_in_full(
    spec: dict[str, Any], profile: dict[str, str] | None
) -> None:
    assert _security(**spec).get("appArmorProfile") == profile


def test_a_change_of_confinement_is_a_change_of_the_template() -> None:
    assert _security(securityContext={"runAsUser": 1}) != _security()
