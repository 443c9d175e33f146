"""The effects of upgrades, in addition to those of contracts.records.effects. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field

from contracts.api.cluster.upgrade import PrePromotionHook
from contracts.jobs.upgrade_actions import Order
from contracts.records.effects import EffectByUid

# Upgrades of either strategy.


@dataclass(frozen=True, slots=True)
class AcquireLock(EffectByUid):
    """Take the operation lock; `target` is the holder."""

    name = "take-upgrade-lock"
    message: str


class FreeLock(EffectByUid):
    """Release the operation lock; `target` is the holder."""

    __slots__ = ()
    name = "free-upgrade-lock"


@dataclass(frozen=True, slots=True)
class MakeSnapshot(EffectByUid):
    """Create the OpenBaoBackup before an upgrade."""

    name = "make-upgrade-snapshot"
    attempt: str
    """Unique id of the attempt in this cluster."""


# Blue/green upgrades.


@dataclass(frozen=True, slots=True)
class MakeJob(EffectByUid):
    """Create the Job of a phase."""

    name = "make-upgrade-job"
    order: Order


@dataclass(frozen=True, slots=True)
class MakeHook(EffectByUid):
    """Create the validation hook Job, suspended."""

    name = "make-validation-hook"
    operation_id: str
    green_revision: str
    spec_hash: str
    hook: PrePromotionHook = field(hash=False)


class StartHook(EffectByUid):
    """Resume the validation hook Job."""

    __slots__ = ()
    name = "start-validation-hook"


class DropHook(EffectByUid):
    """Delete the validation hook Job."""

    __slots__ = ()
    name = "drop-validation-hook"


class DeleteStatefulSet(EffectByUid):
    """Delete the StatefulSet of a pool with its servers, but not their volumes."""

    __slots__ = ()
    name = "delete-server-set"


class DeleteServerClaim(EffectByUid):
    """Delete the data volume of a deleted server."""

    __slots__ = ()
    name = "delete-server-claim"
