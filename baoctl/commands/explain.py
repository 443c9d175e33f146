"""The text of `baoctl explain` for conditions and reasons.

Pure. Uses the catalogs of contracts. Called by baoctl.verbs.explain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from baoctl.exit_codes import ExitCode, VerbError
from baoctl.options import suggestion
from contracts.conditions.catalog import REASONS, TYPES, ConditionType, Polarity, Reason
from contracts.conditions.reasons_backup import COMPLETED, RUN_REASONS
from contracts.conditions.reasons_restore import (
    OPERATION_LOCK_OVERRIDE,
    RECOVERY_RELEASED,
    RESTORE_COMPLETE,
    RESTORE_REASONS,
)
from contracts.conditions.reasons_restore_test import RESTORE_TEST_REASONS, RestoreTestReason
from contracts.conditions.reasons_tenant import PROVISIONED, TENANT_REASONS
from contracts.datacenter.reasons import (
    DATACENTER_REASONS,
    NO_CONFLICTS,
    READY,
    SOURCES_READY,
)

_OTHER_REASONS: Final[tuple[tuple[str, Mapping[str, Reason | RestoreTestReason]], ...]] = (
    ("OpenBaoBackup", {**RUN_REASONS}),
    ("restore test of an OpenBaoBackup", {**RESTORE_TEST_REASONS}),
    ("OpenBaoRestore", {**RESTORE_REASONS}),
    ("OpenBaoTenant", {**TENANT_REASONS}),
    ("Datacenter", {**DATACENTER_REASONS}),
)
"""What has reasons of its own. Some of them have the name of a reason of a cluster."""
REASON_NAMES: Final = tuple(sorted({*REASONS}.union(*(known for _, known in _OTHER_REASONS))))

POLARITY_TEXTS: dict[Polarity, str] = {
    "good": "True is healthy",
    "bad": "True is a problem",
    "neutral": "informational",
}


_OTHER_CONDITIONS: Final = (
    ("OpenBaoBackup", COMPLETED, "True once the snapshot is stored, False if the backup failed."),
    ("OpenBaoRestore", RESTORE_COMPLETE, "True once all servers have the data."),
    (
        "OpenBaoRestore",
        OPERATION_LOCK_OVERRIDE,
        "True if the restore took the operation lock from another operation.",
    ),
    (
        "OpenBaoRestore",
        RECOVERY_RELEASED,
        "True once the operator manages the cluster as before the restore.",
    ),
    ("OpenBaoTenant", PROVISIONED, "True if the operator manages the clusters of the namespace."),
    ("Datacenter", READY, "True if every service runs in its desired state."),
    ("Datacenter", SOURCES_READY, "True if every source of services returned a valid list."),
    ("Datacenter", NO_CONFLICTS, "True if no two sources declare a service of the same name."),
)
"""The conditions of other kinds."""
CONDITION_NAMES: Final = tuple(
    dict.fromkeys([*(kind.name for kind in TYPES), *(name for _, name, _ in _OTHER_CONDITIONS)])
)


def matching_name(word: str, what: str, known: Iterable[str]) -> str:
    """Return the known name that equals a word, ignoring case. Raises VerbError if none does."""
    names = tuple(known)
    by_folded = {name.casefold(): name for name in names}
    name = by_folded.get(word.casefold())
    if name is None:
        hint = suggestion(word, names)
        text = f"there is no {what} {word[:80]!r}{hint}; baoctl explain {what}s lists them all"
        raise VerbError(text, ExitCode.NOT_FOUND)
    return name


def reason_text(name: str) -> str:
    """Explain one reason for each kind that has it: meaning, next step and conditions."""
    texts = []
    if name in REASONS:
        conditions = ", ".join(kind.name for kind in TYPES if name in kind.reasons)
        texts.append(f"{_block(name, REASONS[name])}  Conditions: {conditions}\n")
    for kind, reasons in _OTHER_REASONS:
        if name in reasons:
            texts.append(_block(f"{name} ({kind})", reasons[name]))
    return "\n".join(texts)


def _block(head: str, reason: Reason | RestoreTestReason) -> str:
    return f"{head}\n  {reason.meaning}\n  {reason.next_step}\n"


def condition_texts(name: str) -> str:
    """Explain the conditions of this name, one for each kind that has it."""
    texts = [_text_of_type(kind) for kind in TYPES if kind.name == name]
    texts += [
        f"{name} ({kind})\n  {meaning}\n" for kind, own, meaning in _OTHER_CONDITIONS if own == name
    ]
    return "\n".join(texts)


def _text_of_type(kind: ConditionType) -> str:
    lines = [f"{kind.name} ({POLARITY_TEXTS[kind.polarity]})", f"  {kind.meaning}", ""]
    for name in kind.reasons:
        lines += [f"  {name}", f"    {REASONS[name].meaning}", f"    {REASONS[name].next_step}"]
    return "\n".join(lines) + "\n"


def condition_lines() -> Iterator[str]:
    """Yield the line of each condition, those of clusters first."""
    for kind in TYPES:
        yield f"{kind.name} ({POLARITY_TEXTS[kind.polarity]}): {kind.meaning}"
    for other, name, meaning in _OTHER_CONDITIONS:
        yield f"{name} ({other}): {meaning}"
