"""Names of the roles that jobs take in the auth method jwt-operator.

Uses the API models. Called by the rules about self-init and by
managers.cluster.resolve.operator_login.
"""

from collections.abc import Mapping
from typing import Any

from contracts.api.cluster.spec import ClusterSpec
from contracts.naming.names import Job

OPERATOR_ROLE = "openbao-operator"
DEFAULTS: Mapping[Job, str] = {
    "backup": "openbao-operator-backup",
    "upgrade": "openbao-operator-upgrade",
    "restore": "openbao-operator-restore",
}


def job_role(spec: ClusterSpec, job: Job) -> str:
    """The role of a job: the spec's own choice, or the usual name."""
    return chosen(getattr(spec, job), "jwtAuthRole") or DEFAULTS[job]


def chosen(block: Any, alias: str) -> str:
    """One string of a block of the spec; "" when it is not there."""
    if block is None:
        return ""
    override = block.get(alias) if isinstance(block, Mapping) else block.to_object().get(alias)
    return override if isinstance(override, str) else ""
