"""Desired settings of raft autopilot, and their status. Pure.

docs/rollouts.md lists the defaults. The rules of the server are those of OpenBao 2.4.0,
vault/raft.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from contracts.api.cluster.configuration import Autopilot
from contracts.api.cluster.spec import ClusterSpec
from contracts.api.cluster.status import AutopilotStatus
from contracts.api.values.duration import counted_duration
from contracts.conditions.message import clean_message
from contracts.records.observed import EffectAttempt

SET_AUTOPILOT = "set-autopilot"
# OpenBao requires at least this min_quorum for the cleanup of dead servers.
QUORUM_MIN = 3
# A removed server keeps its volume, and cannot join again until a user deletes the volume. So a
# server whose node is repaired for some hours must not be removed.
DEAD_AFTER = "24h"
UNHEALTHY_AFTER = "10s"
STABLE_AFTER = "10s"
TRAILING_LOGS = 1000
# The operator retries, because no event reports that a user has corrected the policy.
REFUSED_RECHECK = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class AutopilotDecision:
    """The result of one reconcile of the settings."""

    applied: bool
    refused: bool = False
    """The server denied the request: an immediate retry would fail, too."""
    message: str = ""


def desired_settings(spec: ClusterSpec, *, voters: int) -> Mapping[str, Any]:
    """Return the desired settings, by their names in the API of OpenBao.

    With fewer than three servers, dead servers are removed only if the spec requests it. `voters`
    is their current number: until all servers of a new cluster vote, the shorter stabilization time
    of the first boot (contracts.hcl.self_init) remains.
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
        "last_contact_threshold": autopilot.last_contact_threshold or UNHEALTHY_AFTER,
        "max_trailing_logs": autopilot.max_trailing_logs or TRAILING_LOGS,
    }
    if autopilot.server_stabilization_time or voters >= spec.replicas:
        settings["server_stabilization_time"] = autopilot.server_stabilization_time or STABLE_AFTER
    if cleanup or autopilot.min_quorum is not None:
        settings["min_quorum"] = autopilot.min_quorum or max(QUORUM_MIN, spec.replicas // 2 + 1)
    return settings


def differing(settings: Mapping[str, Any], live: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of settings that differ; durations are compared as durations."""
    return tuple(sorted(key for key, value in settings.items() if not _same(value, live.get(key))))


def refusal(uid: str, settings: Mapping[str, Any], now: datetime) -> EffectAttempt:
    """Return the attempt that records refused settings, or a missing login to apply them."""
    return EffectAttempt(SET_AUTOPILOT, uid, now, _settings_text(settings))


def is_refused_recently(
    attempt: EffectAttempt | None, settings: Mapping[str, Any], now: datetime
) -> bool:
    """Return whether the same settings were refused recently."""
    if attempt is None or attempt.refusal != _settings_text(settings):
        return False
    return now - attempt.at < REFUSED_RECHECK


def _settings_text(settings: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in sorted(settings.items()))


def autopilot_status(decision: AutopilotDecision) -> AutopilotStatus:
    """Return the status of the settings."""
    reason = "AutopilotApplied" if decision.applied else "AutopilotRefused"
    message = clean_message(decision.message)
    return AutopilotStatus(applied=decision.applied, reason=reason, message=message)


def _same(value: Any, live: Any) -> bool:
    if isinstance(value, str):
        desired, actual = counted_duration(value), counted_duration(str(live))
        return value == live if desired is None else desired == actual
    return bool(value == live)
