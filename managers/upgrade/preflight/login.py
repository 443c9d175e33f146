"""Preflight check of the logins that an upgrade needs: of the operator, and of its Jobs. Pure.

One check of the table in managers.upgrade.preflight.checks.
"""

from __future__ import annotations

from contracts.naming import names
from managers.upgrade.login import jobs_can_log_in
from managers.upgrade.preflight.inputs import Answer, PreflightInput, wait
from runtime.outcome import Blocked, Wait

_MISSING = "OperatorLoginMissing"
_FIELD = "spec.upgrade.strategy: BlueGreen"
_INSTEAD = "set spec.upgrade.strategy to RollingUpdate, which needs no login"


def can_log_in(inputs: PreflightInput) -> Answer:
    """Check the spec, the state of the login, and whether the leader answered."""
    if inputs.resuming:
        return None
    return _set_up(inputs) or _for_blue_green(inputs)


def _set_up(inputs: PreflightInput) -> Wait | None:
    """Wait for the login of a cluster without self-init: no upgrade uses its root token."""
    cluster = inputs.cluster
    if cluster.spec.self_initializes:
        return None
    login = cluster.operator_login_status
    if login is None:
        secret = names.root_token_secret(cluster.metadata.name)
        message = f"the operator first sets up its login with the root token in Secret {secret}"
        return wait(_MISSING, message)
    return wait(login.reason, login.problem) if login.reason else None


def _for_blue_green(inputs: PreflightInput) -> Answer:
    if not inputs.is_blue_green:
        return None
    if not inputs.cluster.has_operator_login:
        return Blocked(
            _MISSING,
            f"{_FIELD} needs a login of the operator to read the raft members, and it has none: "
            f"spec.selfInit.oidc was not enabled at the first boot; {_INSTEAD}",
        )
    if not jobs_can_log_in(inputs.cluster):
        return Blocked(
            _MISSING,
            f"{_FIELD} needs Jobs that change the raft members, and they have no login: set "
            f"spec.upgrade.jwtAuthRole to their role, or {_INSTEAD}",
        )
    # The operator reads the members only if it also reads the Jobs of a blue/green upgrade.
    if inputs.observed.upgrade.blue_green is None or inputs.observed.quorum is not None:
        return None
    return wait(
        _MISSING,
        "the leader did not report the raft members: OpenBao refuses the request of the operator, "
        "see condition OperatorLoginReady",
    )
