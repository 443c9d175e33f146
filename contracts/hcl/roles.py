"""The roles of the auth method jwt-operator, with the least privileges that each needs.

Uses contracts.api.rules.self_init and contracts.api.cluster.job_roles, which name the method and
the roles. Called by managers.cluster.resolve.operator_login, which chooses the ServiceAccounts, and
by contracts.hcl.self_init, which writes the roles into the self-init configuration. A test compares
the table in docs/first-boot.md with this module.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from contracts.api.cluster.job_roles import DEFAULTS, OPERATOR_ROLE
from contracts.api.rules.self_init import JWT_MOUNT
from contracts.snapshot_digest import DEFAULT_CANARY, MOUNTS_PATH

TOKEN_TTL = "1h"  # noqa: S105 - a duration
RECOVERY_BACKUP = "sys/rotate/recovery/backup"

Rights = Mapping[str, tuple[str, ...]]
"""Capabilities by path."""

_RAFT = "sys/storage/raft"
_STEP_DOWN: Rights = {"sys/health": ("read",), "sys/step-down": ("sudo", "update")}
_OPERATOR: Rights = {
    **_STEP_DOWN,
    f"{_RAFT}/configuration": ("read",),
    f"{_RAFT}/remove-peer": ("update",),
    f"{_RAFT}/autopilot/configuration": ("read", "update"),
    f"{_RAFT}/autopilot/state": ("read",),
    # The keys that sign ServiceAccount tokens change. With outdated keys every login would fail.
    f"auth/{JWT_MOUNT}/config": ("read", "update"),
}
_UPGRADE: Rights = {
    **_STEP_DOWN,
    f"{_RAFT}/snapshot": ("read",),
    f"{_RAFT}/autopilot/state": ("read",),
}
_BLUE_GREEN: Rights = {
    **_UPGRADE,
    f"{_RAFT}/join": ("update",),
    f"{_RAFT}/configuration": ("read", "update"),
    f"{_RAFT}/remove-peer": ("update",),
    f"{_RAFT}/promote": ("update",),
    f"{_RAFT}/demote": ("update",),
}
# A restore test compares the last two: the list of secret engines, and the content of one path. The
# backup job and the restore test job read both.
_BACKUP: Rights = {
    f"{_RAFT}/snapshot": ("read",),
    MOUNTS_PATH: ("read",),
    DEFAULT_CANARY: ("read",),
}
_RESTORE: Rights = {f"{_RAFT}/snapshot": ("update",), f"{_RAFT}/snapshot-force": ("update",)}
_HAND_OVER: Rights = {RECOVERY_BACKUP: ("read",)}
# Rewraps the root key with the current key of the seal, and does not return it.
_REWRAP: Rights = {"sys/rotate/root": ("sudo", "update")}


@dataclass(frozen=True, slots=True)
class AuthRole:
    """One role of jwt-operator: the subjects that may use it, and its policy.

    `subjects` are `sub` claims, system:serviceaccount:<namespace>:<name>; at least one.
    """

    name: str
    policy: str
    rights: Rights
    subjects: tuple[str, ...]

    def policy_text(self) -> str:
        """Return the policy as HCL."""
        return "\n".join(
            f'path "{path}" {{\n  capabilities = {json.dumps(list(capabilities))}\n}}'
            for path, capabilities in self.rights.items()
        )


def operator_role(
    subjects: tuple[str, ...], *, hands_over: bool = False, rewraps: bool = False
) -> AuthRole:
    """Return the role of the operator.

    `hands_over`: it copies the encrypted recovery shares to a Secret. `rewraps`: it rotates the key
    of a static seal.
    """
    rights = {
        **_OPERATOR,
        **(_HAND_OVER if hands_over else {}),
        **(_REWRAP if rewraps else {}),
    }
    return AuthRole(OPERATOR_ROLE, OPERATOR_ROLE, MappingProxyType(dict(rights)), subjects)


def backup_role(name: str, subjects: tuple[str, ...], *, canary: str | None = None) -> AuthRole:
    """Return the role of backup and restore test jobs; they also read the path `canary`."""
    rights = {**_BACKUP, **({canary: ("read",)} if canary and canary not in _BACKUP else {})}
    return AuthRole(name, DEFAULTS["backup"], MappingProxyType(rights), subjects)


def upgrade_role(name: str, subjects: tuple[str, ...], *, blue_green: bool) -> AuthRole:
    """Return the role of upgrade jobs; blue/green needs more rights."""
    rights = _BLUE_GREEN if blue_green else _UPGRADE
    return AuthRole(name, DEFAULTS["upgrade"], MappingProxyType(dict(rights)), subjects)


def restore_role(name: str, subjects: tuple[str, ...]) -> AuthRole:
    """Return the role of restore jobs."""
    return AuthRole(name, DEFAULTS["restore"], MappingProxyType(dict(_RESTORE)), subjects)
