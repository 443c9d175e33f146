"""Rules about downgrades, and about fields that only newer servers support.

Uses the API models, contracts.api.values.pattern and contracts.server_features. Collected by
contracts.api.rules.cluster. They apply to changes: an accepted spec stays valid, and
managers.cluster.resolve.resolve stops the operator where continuing would do harm.
"""

from collections.abc import Iterator

from contracts.api.cluster.configuration import ListenerSpec
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_upgrade import UpgradeStatus
from contracts.api.rules.checks import both, group, has, is_set, it
from contracts.api.rules.combinators import rule
from contracts.api.rules.rule import FORBIDDEN, REQUIRED, InvalidField, Old, Rule, RuleOf
from contracts.api.values.pattern import Pattern
from contracts.server_features import is_older, since

_LISTENER = "spec.configuration.listener"
_GROUPS = f"{_LISTENER}.tlsKeyExchangePreferences"
_POST_QUANTUM = Pattern("(?i)mlkem")
_NUMBERS = "[0-9]+[.][0-9]+[.][0-9]+"
_FIRST = since("tls-key-exchange")


def _data_versions(cluster: OpenBaoCluster) -> Iterator[str]:
    """Versions that may have written the data."""
    yield cluster.status.current_version
    upgrade = cluster.status.upgrade
    if upgrade is not None and not _goes_back(cluster, upgrade):
        yield upgrade.target_version


def _goes_back(cluster: OpenBaoCluster, upgrade: UpgradeStatus) -> bool:
    """Return whether an upgrade is cancelled before a leader of the new version wrote data."""
    requested = cluster.spec.version.removeprefix("v")
    return upgrade.last_step_down_time is None and requested == upgrade.from_version


def _downgrade(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    changes = old is not None and old.spec.version != new.spec.version
    if changes and any(is_older(new.spec.version, running) for running in _data_versions(new)):
        yield "spec.version", new.spec.version


def _listener(cluster: OpenBaoCluster) -> ListenerSpec:
    return cluster.spec.configuration.listener or ListenerSpec()


def _too_early(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    groups = _listener(new).tls_key_exchange_preferences
    if old is None or not groups or groups == _listener(old).tls_key_exchange_preferences:
        return
    if is_older(new.status.current_version, _FIRST):
        yield _GROUPS, new.status.current_version


def _is_number(version: str) -> str:
    return f"{version}.matches('{_NUMBERS}')"


def _number(version: str) -> str:
    """Return CEL for a version as one number; a pre-release has the number of its release."""
    part = f"{version}.find('{_NUMBERS}').split('.')"
    return f"(int({part}[0]) * 1000000000000 + int({part}[1]) * 1000000 + int({part}[2]))"


def _not_below(field: str) -> str:
    """Return CEL: spec.version is not older than a version of the status, or that is unknown."""
    absent, value = f"!{is_set(field)}", f"self.{field}"
    return (
        f"({absent} || !{_is_number(value)} || {_number('self.spec.version')} >= {_number(value)})"
    )


_CURRENT = "self.status.currentVersion"
_FROM = "self.status.upgrade.fromVersion"
_GOES_BACK = (
    f"({is_set('status.upgrade.fromVersion')} && "
    f"!{is_set('status.upgrade.lastStepDownTime')} && "
    f"(self.spec.version == {_FROM} || self.spec.version == 'v' + {_FROM}))"
)
_PREFERENCES = it("tlsKeyExchangePreferences")
_NOW, _BEFORE = both(_GROUPS, ())

VERSION_RULES: tuple[Rule, ...] = (
    RuleOf(
        "version-downgrade",
        "",
        "spec.version",
        "spec.version must not be older than the running version (status.currentVersion) or the "
        "target of an upgrade that started (status.upgrade.targetVersion), because OpenBao cannot "
        "read newer data; choose a newer version, go back to status.upgrade.fromVersion before a "
        "leader steps down, or restore a snapshot into a new cluster",
        _downgrade,
        cel=(
            "self.spec.version == oldSelf.spec.version || "
            f"({_not_below('status.currentVersion')} && "
            f"({_GOES_BACK} || {_not_below('status.upgrade.targetVersion')}))"
        ),
        got="self.spec.version",
        reason=FORBIDDEN,
    ),
    rule(
        "key-exchange-tls13",
        _LISTENER,
        "tlsMinVersion",
        "must be tls13 when tlsKeyExchangePreferences has only post-quantum groups, because older "
        "TLS versions do not support them; set tls13, or add another group such as X25519",
        ~has("tlsKeyExchangePreferences")
        | _PREFERENCES.size().equals(0)
        | _PREFERENCES.exists("group", ~it(of="group").matches(_POST_QUANTUM))
        | group(has("tlsMinVersion") & it("tlsMinVersion").equals("tls13")),
        reason=REQUIRED,
    ),
    RuleOf(
        "key-exchange-running",
        "",
        _GROUPS,
        f"{_GROUPS} needs running servers of OpenBao {_FIRST} or newer; upgrade the servers "
        "first, and set it after the upgrade",
        _too_early,
        cel=(
            f"{_NOW}.size() == 0 || {_NOW} == {_BEFORE} || "
            f"!{is_set('status.currentVersion')} || !{_is_number(_CURRENT)} || "
            f"{_number(_CURRENT)} >= {_number(repr(_FIRST))}"
        ),
        got=_CURRENT,
        reason=FORBIDDEN,
    ),
)
