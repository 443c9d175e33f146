"""The preflight checks of a blue/green upgrade, with their inputs."""

from __future__ import annotations

from dataclasses import replace

from contracts.records.observed import Observed
from contracts.records.upgrade import BlueGreenObservation, Release, UpgradeFacts
from managers.upgrade.preflight.checks import PreflightResult, check
from tests import gen
from tests.contracts.api.clusters import with_request
from tests.managers.upgrade.preflight.cases import CLUSTER, FINE, GREEN

SECOND = CLUSTER.with_spec(upgrade=GREEN)
NOBODY = with_request()
OIDC = {**NOBODY, "oidc": {"enabled": True}}
ALONE = {"strategy": "BlueGreen", "preUpgradeSnapshot": True}


def observe(world: gen.World = FINE, *, answers: bool = True) -> Observed:
    """The observation of the operator before such an upgrade."""
    facts = UpgradeFacts(needs_quorum=True, blue_green=BlueGreenObservation())
    quorum = world.facts().quorum if answers else None
    return replace(world.facts(), upgrade=facts, quorum=quorum)


def run_checks(
    cluster: gen.Cluster, observed: Observed, *, resuming: bool = False
) -> PreflightResult:
    read = cluster.read()
    return check(read, observed, Release.requested(read), resuming=resuming)


def message_of(verdict: PreflightResult, name: str) -> str:
    return next(result for result in verdict.results if result.check == name).messages[0]
