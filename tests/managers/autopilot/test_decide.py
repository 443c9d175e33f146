"""managers.autopilot.decide: the desired settings, and when they differ."""

from datetime import timedelta
from typing import Any

import pytest

from managers.autopilot.decide import (
    REFUSED_RECHECK,
    desired_settings,
    differing,
    is_refused_recently,
    refusal,
)
from tests import gen
from tests.gen.secrets import NOW

# Response of a server (OpenBao 2.4.0), with the settings of three replicas.
LIVE = {
    "cleanup_dead_servers": True,
    "dead_server_last_contact_threshold": "24h0m0s",
    "last_contact_threshold": "10s",
    "max_trailing_logs": 1000,
    "min_quorum": 3,
    "server_stabilization_time": "10s",
}


def settings(replicas: int = 3, **asked: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"replicas": replicas}
    if asked:
        spec["configuration"] = {"raft": {"autopilot": asked}}
    return dict(desired_settings(gen.cluster(**spec).read().spec, voters=replicas))


# sentence: (replicas, settings of the spec, cleanup, min_quorum; None: not set)
ROWS: dict[str, tuple[int, dict[str, Any], bool, int | None]] = {
    "one server is never cleaned up": (1, {}, False, None),
    "two servers are never cleaned up": (2, {}, False, None),
    "three keep three": (3, {}, True, 3),
    "seven keep a majority": (7, {}, True, 4),
    "a user may disable the cleanup": (5, {"cleanupDeadServers": False}, False, None),
    "a user may enable the cleanup": (1, {"cleanupDeadServers": True}, True, 3),
    "the minimum of the spec counts": (5, {"minQuorum": 4}, True, 4),
    "the minimum of the spec counts without the cleanup": (1, {"minQuorum": 3}, False, 3),
}


@pytest.mark.parametrize(("replicas", "spec", "cleanup", "least"), ROWS.values(), ids=ROWS.keys())
def test_row(replicas: int, spec: dict[str, Any], cleanup: bool, least: int | None) -> None:
    config = settings(replicas, **spec)
    assert config["cleanup_dead_servers"] is cleanup
    assert config.get("min_quorum") == least


@pytest.mark.parametrize("profile", ["Hardened", "Development"])
def test_b36_five_servers_may_lose_two_and_remove_them(profile: str) -> None:
    """A minimum of five would keep every dead peer forever."""
    spec = gen.cluster(replicas=5, profile=profile).read().spec
    assert desired_settings(spec, voters=5)["min_quorum"] == 3


def test_other_settings_are_those_of_the_spec() -> None:
    config = settings(
        deadServerLastContactThreshold="1h",
        lastContactThreshold="20s",
        maxTrailingLogs=50,
        serverStabilizationTime="30s",
    )
    assert config["dead_server_last_contact_threshold"] == "1h"
    assert (config["last_contact_threshold"], config["max_trailing_logs"]) == ("20s", 50)
    assert config["server_stabilization_time"] == "30s"


STABILIZATION = "server_stabilization_time"
# sentence: (voters of three replicas, spec, result; None: the servers keep theirs)
FIRST_BOOT: dict[str, tuple[int, dict[str, Any], str | None]] = {
    "not known yet": (0, {}, None),
    "only the first server votes": (1, {}, None),
    "all vote": (3, {}, "10s"),
    "more than the replicas vote": (4, {}, "10s"),
    "the time of the spec applies from the start": (1, {"serverStabilizationTime": "30s"}, "30s"),
}


@pytest.mark.parametrize(("voters", "autopilot", "time"), FIRST_BOOT.values(), ids=FIRST_BOOT)
def test_the_stabilization_time_of_the_first_boot_ends_when_all_vote(
    voters: int, autopilot: dict[str, Any], time: str | None
) -> None:
    configuration = {"raft": {"autopilot": autopilot}}
    spec = gen.cluster(replicas=3, configuration=configuration).read().spec
    config = desired_settings(spec, voters=voters)
    assert config.get(STABILIZATION) == time
    live = {**LIVE, STABILIZATION: "2s"}
    assert differing(config, live) == ((STABILIZATION,) if time else ())


def test_a_duration_in_another_spelling_is_no_difference() -> None:
    assert differing(settings(), LIVE) == ()


# sentence: (settings of the server, what differs)
CHANGED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "another duration": (
        {"dead_server_last_contact_threshold": "5m0s"},
        ("dead_server_last_contact_threshold",),
    ),
    "switched off": ({"cleanup_dead_servers": False}, ("cleanup_dead_servers",)),
    "two at once": ({"min_quorum": 0, "max_trailing_logs": 1}, ("max_trailing_logs", "min_quorum")),
    "an unreadable value": ({"last_contact_threshold": None}, ("last_contact_threshold",)),
    "a setting that the operator does not manage": ({"a_newer_setting": 1}, ()),
}


@pytest.mark.parametrize(("live", "names"), CHANGED.values(), ids=CHANGED.keys())
def test_what_differs(live: dict[str, Any], names: tuple[str, ...]) -> None:
    assert differing(settings(), {**LIVE, **live}) == names


class TestRefusals:
    def test_refused_settings_are_not_retried_immediately(self) -> None:
        noted = refusal("uid-x", settings(), NOW)
        assert is_refused_recently(noted, settings(), NOW + REFUSED_RECHECK - timedelta(seconds=1))

    def test_refused_settings_are_retried_later(self) -> None:
        noted = refusal("uid-x", settings(), NOW)
        assert not is_refused_recently(noted, settings(), NOW + REFUSED_RECHECK)

    def test_other_settings_are_tried_immediately(self) -> None:
        noted = refusal("uid-x", settings(), NOW)
        assert not is_refused_recently(noted, settings(minQuorum=5), NOW)

    def test_nothing_was_tried(self) -> None:
        assert not is_refused_recently(None, settings(), NOW)
