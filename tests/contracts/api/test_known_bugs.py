"""Mistakes of other operators of this API that the API itself holds off."""

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
def test_b26_no_switch_makes_a_cluster_that_never_starts(
    spec: dict[str, Any], field: str, profile: str | None
) -> None:
    (violation,) = violations(cluster(profile=profile, **spec))
    assert violation.field == field


@pytest.mark.parametrize("period", ["8760h", "100000h", "59m"])
def test_b28_a_period_in_which_a_certificate_is_never_good_is_refused(period: str) -> None:
    (violation,) = violations(cluster(tls={"rotationPeriod": period}))
    assert violation.field == "spec.tls.rotationPeriod"


def test_b43_an_ingress_opens_nothing_by_itself() -> None:
    (violation,) = violations(cluster(ingress={"enabled": True, "host": "bao.example.com"}))
    assert violation.field == "spec.network.trustedIngressPeers"
