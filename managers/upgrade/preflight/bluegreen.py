"""Preflight checks that only blue/green upgrades need. Pure.

Each is one check of the table in managers.upgrade.preflight.checks.
"""

from __future__ import annotations

from contracts.naming import names
from contracts.pools.voter_pool import takes_over
from managers.upgrade.login import jobs_can_log_in, operator_can_log_in
from managers.upgrade.preflight.inputs import Answer, PreflightInput, wait
from runtime.outcome import Blocked

_MISSING = "OperatorLoginMissing"
_FIELD = "spec.upgrade.strategy: BlueGreen"
_INSTEAD = "set spec.upgrade.strategy to RollingUpdate, which needs no login"


def can_log_in(inputs: PreflightInput) -> Answer:
    """Check the spec, and whether the leader answered once it was asked."""
    if not _is_blue_green(inputs):
        return None
    if not operator_can_log_in(inputs.cluster.spec):
        return Blocked(
            _MISSING,
            f"{_FIELD} needs to ask the leader who is a member, and the operator has no login: "
            "spec.selfInit.oidc was not enabled at the first boot and no root token is kept; "
            f"{_INSTEAD}",
        )
    if not jobs_can_log_in(inputs.cluster):
        return Blocked(
            _MISSING,
            f"{_FIELD} lets Jobs change who is a member, and they have no login: set "
            f"spec.upgrade.jwtAuthRole to a role of theirs, or {_INSTEAD}",
        )
    # Only an operator that read the Jobs of such an upgrade has asked the leader, too.
    if inputs.observed.upgrade.blue_green is None or inputs.observed.quorum is not None:
        return None
    return wait(_MISSING, f"the leader did not tell who is a member: {_login_of(inputs)}")


def _login_of(inputs: PreflightInput) -> str:
    if inputs.cluster.spec.wants_operator_login:
        return "OpenBao lets the operator not ask, see condition OperatorLoginReady"
    secret = names.root_token_secret(inputs.cluster.metadata.name)
    return f"without spec.selfInit.oidc it takes a root token in Secret {secret}, or {_INSTEAD}"


def are_newest(inputs: PreflightInput) -> Answer:
    """No server is replaced while there are two pools."""
    live = inputs.observed.stateful_set
    # Once it has begun no server is replaced, so there is no replacement to wait for.
    if live is None or not _is_blue_green(inputs) or takes_over(inputs.cluster):
        return None
    outdated = [pod.name for pod in inputs.observed.pods if pod.template != live.template]
    if not outdated:
        return None
    message = f"{', '.join(outdated)} will be replaced first, as the spec changed"
    return wait("ClusterNotReady", f"{message}; the upgrade begins once that is done")


def _is_blue_green(inputs: PreflightInput) -> bool:
    return inputs.strategy == "BlueGreen" and not inputs.resuming
