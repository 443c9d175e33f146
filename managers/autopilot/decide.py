"""Which settings the autopilot is to have, and whether it has them. Pure.

Defaults: reference of the settings in docs/rollouts.md. OpenBao 2.4.0, vault/raft.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from contracts.api.cluster.configuration import Autopilot
from contracts.api.cluster.spec import ClusterSpec
from contracts.api.cluster.status import AutopilotStatus
from contracts.api.meta import counted_duration
from contracts.conditions.condition import clean_message
from contracts.records.observed import EffectAttempt

SET_AUTOPILOT = "set-autopilot"
# The server refuses to remove servers when fewer voters than this would do.
QUORUM_MIN = 3
# A server that is removed keeps its volume and can then not join again until somebody deletes that:
# a long repair of its node must not cost it its place.
DEAD_AFTER = "24h"
ILL_AFTER = "10s"
STABLE_AFTER = "10s"
TRAILING_LOGS = 1000
# A policy is mended by a person, who tells nobody.
REFUSED_RECHECK = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class AutopilotDecision:
    """What one look at the settings came to."""

    applied: bool
    refused: bool = False
    """The server knows us and says no: asking again soon would change nothing."""
    message: str = ""


def wanted(spec: ClusterSpec) -> Mapping[str, Any]:
    """Name every setting that is to hold, by the server's names.

    Below three servers nobody is removed, unless the spec says so: there is nobody to spare.
    """
    raft = spec.configuration.raft
    autopilot = (raft.autopilot if raft else None) or Autopilot()
    cleanup = autopilot.cleanup_dead_servers
    if cleanup is None:
        cleanup = spec.replicas >= QUORUM_MIN
    settings: dict[str, Any] = {
        "cleanup_dead_servers": cleanup,
        "dead_server_last_contact_threshold": (
            autopilot.dead_server_last_contact_threshold or DEAD_AFTER
        ),
        "last_contact_threshold": autopilot.last_contact_threshold or ILL_AFTER,
        "max_trailing_logs": autopilot.max_trailing_logs or TRAILING_LOGS,
        "server_stabilization_time": autopilot.server_stabilization_time or STABLE_AFTER,
    }
    if cleanup or autopilot.min_quorum is not None:
        settings["min_quorum"] = autopilot.min_quorum or max(QUORUM_MIN, spec.replicas // 2 + 1)
    return settings


def differing(settings: Mapping[str, Any], live: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the settings that the server has otherwise; it spells durations in its own way."""
    return tuple(sorted(key for key, value in settings.items() if not _same(value, live.get(key))))


def refusal(uid: str, settings: Mapping[str, Any], now: datetime) -> EffectAttempt:
    """Note that these settings were refused, or that there is no login to ask for them."""
    return EffectAttempt(SET_AUTOPILOT, uid, now, _named(settings))


def is_pointless(attempt: EffectAttempt | None, settings: Mapping[str, Any], now: datetime) -> bool:
    """Tell whether the same was refused a moment ago."""
    if attempt is None or attempt.refused != _named(settings):
        return False
    return now - attempt.at < REFUSED_RECHECK


def _named(settings: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in sorted(settings.items()))


def autopilot_status(kept: AutopilotDecision) -> AutopilotStatus:
    """Say in the status what became of it."""
    reason = "AutopilotApplied" if kept.applied else "AutopilotRefused"
    return AutopilotStatus(applied=kept.applied, reason=reason, message=clean_message(kept.message))


def _same(value: Any, live: Any) -> bool:
    if isinstance(value, str):
        desired, actual = counted_duration(value), counted_duration(str(live))
        return value == live if desired is None else desired == actual
    return bool(value == live)
