"""Names of the roles of Jobs in the auth method jwt-operator.

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
    """Return the role of a Job: that of the spec, or the default."""
    return string_field(getattr(spec, job), "jwtAuthRole") or DEFAULTS[job]


def string_field(block: Any, alias: str) -> str:
    """Return the string in a field of a block of the spec; "" if it is absent."""
    if block is None:
        return ""
    override = block.get(alias) if isinstance(block, Mapping) else block.to_object().get(alias)
    return override if isinstance(override, str) else ""
