"""The features of OpenBao versions: one table for rules and rendering.

Uses semver. Called by the rules in contracts.api.rules, and by the features that depend on a
version. The rules reject a field that the desired version does not support; the operator never
omits it silently. Sources: the release notes of OpenBao, and for 2.4.0 its source code, with which
the integration tests run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import semver

VERSION_PATTERN = (
    r"^v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$"
)
"""Pattern of spec.version of a cluster."""
VERSION_MAX = 64
"""Maximum characters of spec.version."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of servers from version `since` on, and before version `until` if set."""

    since: str
    source: str
    until: str | None = None
    setting: str = ""
    """In Markdown: the fields of the spec that need it, or its effect on the operator."""


FEATURES: Mapping[str, Feature] = MappingProxyType(
    {
        "self-init": Feature(
            "2.4.0",
            "release notes 2.4.0",
            setting="`spec.selfInit`, and `spec.unseal.type: static`",
        ),
        "http-audit": Feature(
            "2.5.0",
            "release notes 2.5.0; 2.4.0 has no builtin/audit/http",
            setting="`spec.audit[].type: http`",
        ),
        "metrics-only-listener": Feature(
            "2.5.0",
            "release notes 2.5.0; internalshared/configutil/listener.go of 2.4.0 lacks it",
            setting="`spec.observability.metrics.metricsOnlyListener`",
        ),
        # The operator replaces such a server instead of reloading it.
        "crash-on-reload": Feature(
            "2.5.0",
            "release notes 2.5.5: SIGHUP terminated standbys that had been leader",
            "2.5.5",
            setting="none: the operator replaces such a server instead of reloading it",
        ),
        # Older standbys forward every request.
        "standby-reads": Feature(
            "2.5.0",
            "release notes 2.5.0; not in the source of 2.4.0",
            setting="`spec.configuration.standbyReads`",
        ),
        # Older servers always answer sys/generate-root.
        "generate-root-switch": Feature(
            "2.5.3",
            "release notes 2.5.3; not in the source of 2.4.0",
            setting="`spec.configuration.listener.unauthenticatedGenerateRoot`",
        ),
        "plugin-stanza": Feature("2.5.0", "release notes 2.5.0", setting="`spec.plugins`"),
        "plugin-download": Feature(
            "2.5.0", "release notes 2.5.0", setting="`spec.configuration.plugin`"
        ),
        "kms-plugin": Feature(
            "2.6.0", "release notes 2.6.0", setting="`spec.plugins[].type: kms`, `spec.unseal.kms`"
        ),
        "self-init-when": Feature(
            "2.6.0", "release notes 2.6.0", setting="`spec.selfInit.requests[].when`"
        ),
        "self-init-headers": Feature(
            "2.6.0", "release notes 2.6.0", setting="`spec.selfInit.requests[].headers`"
        ),
        # These servers send an empty list in the data of a request as null, unless it is the result
        # of an expression.
        "self-init-lists-as-null": Feature(
            "2.6.0",
            "servers 2.6.1 and 2.7.2; 2.4.0 keeps lists, and lacks expressions (CEL)",
            setting="none: the operator writes empty lists of self-init requests as expressions",
        ),
        "plugin-pin-optional": Feature(
            "2.7.0",
            "release notes 2.7.0",
            setting="`spec.plugins[]` with the pins in the image reference",
        ),
        # gRPC service between standbys and the leader: forwarding.RequestForwarding, no longer
        # vault.RequestForwarding.
        "forwarding-package": Feature(
            "2.6.0",
            "github.com/openbao/openbao issue 3899",
            setting="none: the present name of the forwarding service",
        ),
        # A standby falls back to the former service; a leader serves only the new one.
        "forwarding-fallback": Feature(
            "2.6.3",
            "github.com/openbao/openbao pull requests 3900 and 3922; 2.7.0 has it too",
            setting="none: a standby falls back to the former forwarding service",
        ),
        "tls-key-exchange": Feature(
            "2.7.0",
            "release notes 2.7.0",
            setting="`spec.configuration.listener.tlsKeyExchangePreferences`",
        ),
        "built-in-cloud-kms": Feature(
            "2.0.0",
            "release notes 2.7.0: later versions need plugins",
            "2.7.0",
            setting="`spec.unseal.type` of a cloud or pkcs11, without a plugin",
        ),
    }
)


def offers(version: str, feature: str) -> bool:
    """Return whether an OpenBao version (with or without "v") has a feature of the table.

    A pre-release counts as its release. An invalid version has no feature. Raises KeyError for a
    feature that is not in the table.
    """
    feature_range = FEATURES[feature]
    release = _release(version)
    if release is None:
        return False
    return _parse(feature_range.since) <= release and (
        feature_range.until is None or release < _parse(feature_range.until)
    )


def reports_health(follower: str, leader: str) -> bool:
    """Return whether the autopilot of a leader gets the health of a follower.

    Both are versions. A follower reports over the forwarding service, which was renamed in 2.6.0;
    raft itself works between all versions. True if one of them is not a valid version.
    """
    if _release(follower) is None or _release(leader) is None:
        return True
    calls, serves = offers(follower, "forwarding-package"), offers(leader, "forwarding-package")
    return calls == serves or (calls and offers(follower, "forwarding-fallback"))


def since(feature: str) -> str:
    """Return the first version with a feature; raises KeyError if the table does not have it."""
    return FEATURES[feature].since


def is_older(version: str, than: str) -> bool:
    """Return whether a version is older, by the releases of both; False if one is invalid."""
    release, reference = _release(version), _release(than)
    return release is not None and reference is not None and release < reference


def can_read_data_of(server: str, writer: str) -> bool:
    """Return whether a server reads the data that a server of another version wrote.

    Releases of one minor version store the same data: 2.7.0 and 2.7.1 lead with a snapshot of
    2.7.2, and 2.6.1 with one of 2.6.2. OpenBao does not support data of a later minor version
    (openbao.org/docs/upgrading/ha-upgrade): 2.6.2 accepts a snapshot of 2.7.2, and never leads
    again. True if a version is invalid, because it cannot be compared.
    """
    reader, written = _release(server), _release(writer)
    if reader is None or written is None:
        return True
    return (reader.major, reader.minor) >= (written.major, written.minor)


@lru_cache(maxsize=256)
def _release(version: str) -> semver.Version | None:
    try:
        return semver.Version.parse(version.removeprefix("v")).finalize_version()
    except ValueError:
        return None


def _parse(version: str) -> semver.Version:
    return semver.Version.parse(version)
