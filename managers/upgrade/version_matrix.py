"""The upgrade paths between versions: pairs of releases as data, each with its source. Pure.

The most severe matching pair decides. A pair that is not in the table causes a warning and is never
refused: the operator is older than most releases that it runs. Facts about a single version are in
contracts.server_features.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import semver

from contracts.api.cluster.seal import SealType
from contracts.api.cluster.upgrade import Strategy
from contracts.server_features import can_read_data_of

Grade = Literal["good", "warn", "refuse"]

_THREE_SERVERS: Final = (
    "e2e/upgrade_rolling/test_three_servers.py"
    "::test_the_leader_is_replaced_last_and_no_write_is_lost"
)

CLOUD_SEALS: Final[frozenset[SealType]] = frozenset(
    {"awskms", "azurekeyvault", "gcpckms", "ocikms"}
)


@dataclass(frozen=True, slots=True)
class Span:
    """Releases from `since` on, and before `until`; "" is no bound.

    A pre-release counts as its release, because it is more similar to it than to the previous one.
    """

    since: str = ""
    until: str = ""

    def holds(self, version: semver.Version) -> bool:
        """Report whether a version is in this range."""
        release = version.finalize_version()
        after = not self.since or release >= semver.Version.parse(self.since)
        return after and (not self.until or release < semver.Version.parse(self.until))


@dataclass(frozen=True, slots=True)
class Pair:
    """The verdict on upgrades from some versions to others."""

    before: Span
    after: Span
    grade: Grade
    why: str
    """The problem and the required action, as a message for users."""
    source: str
    strategy: Strategy | None = None
    """None: any strategy."""
    seals: Collection[SealType] = ()
    """The pair applies only to these seals; empty: to any."""


@dataclass(frozen=True, slots=True)
class LeadershipLimit:
    """Releases whose servers cannot lead once a server of a later release has led."""

    release: Span
    later: Span
    why: str
    """The cause, as a message for users."""
    source: str


LEADERSHIP_LIMITS: Final[tuple[LeadershipLimit, ...]] = (
    LeadershipLimit(
        Span(until="2.7.0"),
        Span(since="2.7.0"),
        "a server before 2.7 cannot become the leader after a server of 2.7 or later has led: it "
        "rejects the policy response-wrapping that 2.7 writes",
        "servers 2.6.2 and 2.7.2: post-unseal setup failed: failed to load response wrapping "
        "policy: check-and-set parameter did not match the current version",
    ),
)
"""Releases that cannot take the leadership back; for rollbacks of blue/green upgrades."""


PAIRS: Final[tuple[Pair, ...]] = (
    Pair(
        Span(until="2.6.0"),
        Span(since="2.6.0"),
        "refuse",
        "servers before 2.6 and servers from 2.6 on do not report their health to each other, so "
        "one pool cannot get its votes while a server of the other pool is the leader: neither "
        "the promotion nor a rollback would complete; set spec.upgrade.strategy to RollingUpdate "
        "first",
        "github.com/openbao/openbao issue 3899",
        strategy="BlueGreen",
    ),
    Pair(
        Span(until="2.6.0"),
        Span(since="2.6.0"),
        "warn",
        "until all servers are upgraded, servers before 2.6 and from 2.6 on do not forward "
        "requests to each other: a standby answers with a redirect to the leader, and clients "
        "must follow it",
        "github.com/openbao/openbao issue 3899",
        strategy="RollingUpdate",
    ),
    Pair(
        Span(),
        Span(since="2.5.0", until="2.5.1"),
        "refuse",
        "2.5.0 cannot unseal data that another version sealed with a cloud key service; use "
        "2.5.1 or newer",
        "release notes 2.5.1",
        seals=CLOUD_SEALS,
    ),
    Pair(
        Span(until="2.7.0"),
        Span(since="2.7.0"),
        "warn",
        "2.7 has LDAP, Kerberos and RADIUS as plugins only: check `bao auth list` and "
        "`bao secrets list`, and declare the plugins in spec.plugins before the upgrade",
        "release notes 2.7.0",
    ),
    *(
        Pair(
            limit.release,
            limit.later,
            "warn",
            f"once green leads, no rollback is possible: {limit.why}",
            limit.source,
            strategy="BlueGreen",
        )
        for limit in LEADERSHIP_LIMITS
    ),
    Pair(
        Span("2.4.4", "2.5.0"),
        Span("2.5.1", "2.6.0"),
        "good",
        "servers of 2.4 and 2.5 work in one raft cluster",
        "github.com/dc-tec/openbao-operator pull request 546, which tested 2.4.4 to 2.5.5",
    ),
)
"""In the order in which they are reported."""


@dataclass(frozen=True, slots=True)
class PairTest:
    """A test that upgrades real servers from one version to another."""

    before: str
    after: str
    strategy: Strategy
    servers: tuple[int, ...]
    """The cluster sizes that the test covers."""
    test: str
    """The node ID of the test in pytest, relative to the top of the repository."""


_KILLED: Final = (
    "e2e/versions/test_matrix.py::test_an_upgrade_survives_a_killed_operator_and_loses_no_write"
)
_ACROSS_2_6: Final = (("2.4.0", "2.6.2"), ("2.4.0", "2.7.2"))
_SINCE_2_6: Final = (("2.6.1", "2.6.2"), ("2.6.2", "2.7.2"), ("2.7.1", "2.7.2"))

PAIR_TESTS: Final[tuple[PairTest, ...]] = (
    *(PairTest(*pair, "RollingUpdate", (1, 3), _KILLED) for pair in (*_ACROSS_2_6, *_SINCE_2_6)),
    *(PairTest(*pair, "BlueGreen", (1, 3), _KILLED) for pair in _SINCE_2_6),
    PairTest(
        "2.4.0",
        "2.7.2",
        "RollingUpdate",
        (3,),
        "e2e/versions/test_before_2_6.py::test_an_upgrade_can_be_reverted_midway_and_repeated",
    ),
    PairTest("2.6.2", "2.7.0", "RollingUpdate", (3,), _THREE_SERVERS),
    PairTest(
        "2.7.0",
        "2.7.1",
        "RollingUpdate",
        (3,),
        "e2e/pause/test_pause.py"
        "::test_an_upgrade_waits_for_maintenance_and_a_paused_one_resumes_with_its_full_timeout",
    ),
    PairTest(
        "2.6.2",
        "2.7.2",
        "RollingUpdate",
        (3,),
        "e2e/life/test_life.py::test_an_upgrade_loses_no_write",
    ),
    PairTest(
        "2.6.2",
        "2.7.0",
        "BlueGreen",
        (3,),
        "e2e/upgrade_bluegreen/test_takeover.py::test_a_green_pool_takes_over_and_no_write_is_lost",
    ),
    PairTest(
        "2.7.0",
        "2.7.1",
        "BlueGreen",
        (1,),
        "e2e/upgrade_bluegreen/test_one_server.py::test_read_replicas_are_upgraded_last",
    ),
)
"""The pairs that end-to-end tests upgrade; docs/versions.md lists them."""


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """The verdict on an upgrade from one version to another."""

    grade: Grade
    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


def evaluate_pair(
    before: semver.Version, after: semver.Version, strategy: Strategy, seal: SealType
) -> PairVerdict:
    """Evaluate an upgrade from one version to another; the most severe pair decides."""
    pairs = [pair for pair in PAIRS if _applies(pair, before, after, strategy, seal)]
    warnings = [pair.why for pair in pairs if pair.grade == "warn"]
    warnings += _general(before, after)
    if not pairs and (before.major, before.minor) != (after.major, after.minor):
        warnings.append(
            f"this operator does not know the upgrade from {before.major}.{before.minor} to "
            f"{after.major}.{after.minor}: read the upgrade notes in between, and test it on a copy"
        )
    refusals = tuple(pair.why for pair in pairs if pair.grade == "refuse")
    grade: Grade = "refuse" if refusals else "warn" if warnings else "good"
    return PairVerdict(grade, refusals, tuple(warnings), tuple(pair.source for pair in pairs))


@dataclass(frozen=True, slots=True)
class Succession:
    """Whether a server of one release can lead after a server of another one."""

    grade: Literal["possible", "untested", "impossible"]
    why: str = ""
    """Why not, as a message for users; "" if it is possible."""


def succession(version: str, led_by: str) -> Succession:
    """Return whether a server of a release can become the leader after a server of `led_by`.

    The leader migrates the stored data to its release, so the successor must be able to read the
    data of that release.
    """
    successor, former = parse(version), parse(led_by)
    if successor is not None and former is not None:
        if can_read_data_of(version, led_by):
            return Succession("possible")
        for limit in LEADERSHIP_LIMITS:
            if limit.release.holds(successor) and limit.later.holds(former):
                return Succession("impossible", limit.why)
    return Succession(
        "untested",
        f"OpenBao does not support a failover from {led_by or 'an unknown version'} to "
        f"{version or 'an unknown version'}, and no test of this operator covers it",
    )


def _applies(
    pair: Pair, before: semver.Version, after: semver.Version, strategy: Strategy, seal: SealType
) -> bool:
    if pair.strategy not in (None, strategy) or (pair.seals and seal not in pair.seals):
        return False
    return pair.before.holds(before) and pair.after.holds(after)


def _general(before: semver.Version, after: semver.Version) -> list[str]:
    warnings = []
    if after.major > before.major:
        warnings.append(f"{after} is a new major version: read its upgrade notes first")
    elif after.major == before.major and after.minor - before.minor > 1:
        between = after.minor - before.minor - 1
        warnings.append(
            f"the upgrade skips {between} minor release{'s' if between > 1 else ''} between "
            f"{before} and {after}: read the upgrade notes of each"
        )
    if after.prerelease:
        warnings.append(f"{after} is a pre-release")
    return warnings


@lru_cache(maxsize=256)
def parse(version: str) -> semver.Version | None:
    """Parse a version, with or without a leading "v"; None when it is invalid."""
    try:
        return semver.Version.parse(version.removeprefix("v"))
    except ValueError:
        return None
