"""Bugs of other operators that the rules of the API prevent."""

from typing import Any

import pytest

from contracts.api.rules.cluster import violations
from tests.contracts.api.clusters import cluster


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"tls": {"enabled": False}}, "spec.tls.enabled"),
        (
            {"configuration": {"listener": {"tlsDisable": True}}},
            "spec.configuration.listener.tlsDisable",
        ),
    ],
)
@pytest.mark.parametrize("profile", ["Development", None])
def test_b26_settings_that_keep_a_cluster_from_starting_are_refused(
    spec: dict[str, Any], field: str, profile: str | None
) -> None:
    (violation,) = violations(cluster(profile=profile, **spec))
    assert violation.field == field


@pytest.mark.parametrize("period", ["8760h", "100000h", "59m"])
def test_b28_a_rotation_period_outside_the_validity_of_certificates_is_refused(period: str) -> None:
    (violation,) = violations(cluster(tls={"rotationPeriod": period}))
    assert violation.field == "spec.tls.rotationPeriod"


def test_b43_an_ingress_needs_trusted_peers() -> None:
    (violation,) = violations(cluster(ingress={"enabled": True, "host": "bao.example.com"}))
    assert violation.field == "spec.network.trustedIngressPeers"
