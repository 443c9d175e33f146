"""The text of `baoctl explain` for conditions and reasons.

Pure. Uses the catalogues of contracts. Called by baoctl.verbs.explain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from baoctl.exit_codes import ExitCode, VerbError
from baoctl.options import suggestion
from contracts.conditions.catalogue import REASONS, TYPES, ConditionType, Polarity, Reason
from contracts.conditions.reasons_backup import RUN_REASONS
from contracts.conditions.reasons_restore import RESTORE_REASONS
from contracts.conditions.reasons_restore_test import RESTORE_TEST_REASONS, RestoreTestReason
from contracts.conditions.reasons_tenant import TENANT_REASONS
from contracts.datacenter.reasons import DATACENTER_REASONS

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


def condition_text(kind: ConditionType) -> str:
    """Explain one condition and all of its reasons."""
    lines = [f"{kind.name} ({POLARITY_TEXTS[kind.polarity]})", f"  {kind.meaning}", ""]
    for name in kind.reasons:
        lines += [f"  {name}", f"    {REASONS[name].meaning}", f"    {REASONS[name].next_step}"]
    return "\n".join(lines) + "\n"


def condition_line(kind: ConditionType) -> str:
    """Return the line of a condition in the list of conditions."""
    return f"{kind.name} ({POLARITY_TEXTS[kind.polarity]}): {kind.meaning}"
