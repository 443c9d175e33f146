"""Renders docs/versions.md: supported versions, their features, and the supported upgrades.

Uses semver. Called by baoctl.generate.main. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import semver

from contracts.server_features import Feature
from managers.upgrade.version_matrix import Pair, PairTest, Span, evaluate_pair

_HEADER = "<!-- Written by `python -m baoctl.generate pages`. Do not edit. -->\n"
_ANY: Final = "any"


def version_page(
    features: Mapping[str, Feature], pairs: Iterable[Pair], tests: Iterable[PairTest]
) -> str:
    """Return Markdown with the known pairs, the tested pairs, and the features of versions."""
    oldest = features["self-init"].since
    return (
        f"{_HEADER}\n# Versions of OpenBao\n\n"
        f"The operator supports OpenBao {oldest} and later. [Upgrades](upgrade.md) and\n"
        "[blue/green upgrades](upgrade-bluegreen.md) use these tables.\n"
        "\n## Known pairs\n\n"
        "`refuse` is VersionPairRefused, `warn` is a warning of the preflight checks. If several\n"
        "rows match, the most severe one applies. A pair of different minor versions without a\n"
        "row is a warning, and so are another major version, a skipped minor version, and a\n"
        "pre-release.\n\n"
        + _table(("from", "to", "strategy", "seal", "verdict", "why", "source"), map(_pair, pairs))
        + "\n## Tested pairs\n\n"
        "Each test upgrades real servers while a client writes. The verdict is for the seal\n"
        "`static`.\n\n"
        + _table(("from", "to", "strategy", "servers", "verdict", "test"), map(_pair_test, tests))
        + "\n## Features of versions\n\n"
        "The API server refuses a setting that `spec.version` does not support.\n\n"
        + _table(("setting", "since", "before", "source"), map(_feature, features.values()))
    )


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (columns, ("---",) * len(columns), *rows)
    return "".join(f"| {' | '.join(line)} |\n".replace("  ", " ") for line in lines)


def _pair(pair: Pair) -> tuple[str, ...]:
    return (
        _span(pair.before),
        _span(pair.after),
        pair.strategy or _ANY,
        ", ".join(sorted(pair.seals)) or _ANY,
        pair.grade,
        pair.why,
        pair.source,
    )


def _span(span: Span) -> str:
    bounds = (f"from {span.since}" if span.since else "", f"before {span.until}")
    return ", ".join(filter(None, bounds if span.until else bounds[:1])) or _ANY


def _pair_test(test: PairTest) -> tuple[str, ...]:
    before, after = semver.Version.parse(test.before), semver.Version.parse(test.after)
    grade = evaluate_pair(before, after, test.strategy, "static").grade
    servers = ", ".join(map(str, test.servers))
    return test.before, test.after, test.strategy, servers, grade, f"`{test.test}`"


def _feature(feature: Feature) -> tuple[str, ...]:
    return feature.setting, feature.since, feature.until or "", feature.source
