"""The screen of `baoctl status`, and the list of clusters.

Uses rich through baoctl.commands.cluster.terminal. Called by baoctl.commands.cluster.show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from baoctl.commands.cluster.rights import unread_text
from baoctl.commands.cluster.status import EXPIRY_WARNING_DAYS, ListRow, StatusView, UnmetCondition
from baoctl.commands.cluster.terminal import BAD, BOLD, DIM, GOOD, WARN, safe, table


def screen(view: StatusView, *, wide: bool = False) -> Group:
    """Return the screen of one cluster."""
    return Group(*_parts(view, wide=wide))


def _parts(view: StatusView, *, wide: bool) -> Iterator[RenderableType]:
    state = ("Ready", GOOD) if view.ready else ("Not ready", BAD)
    yield Text.assemble((f"{view.namespace}/{view.name}", BOLD), "  ", state, f"  {view.servers}")
    yield Padding(safe(f"{view.reason}: {view.message}"), (0, 0, 0, 2))
    if view.stale:
        late = "The operator has not reconciled the last change of the spec yet."
        yield Padding(Text(late, WARN), (0, 0, 0, 2))
    yield Text()
    yield _facts(view)
    yield Text()
    yield _servers(view, wide=wide)
    if view.waits:
        yield Text("\nConditions not met", BOLD)
        yield from map(_condition_text, _by_reason(view.waits))
    if view.advice and wide:
        yield Text("\nAdvice", BOLD)
        yield from map(_condition_text, _by_reason(view.advice))
    if unread := unread_text("Not shown", view.denied, view.missing_rights):
        yield Text(f"\n{unread}", DIM)


def _facts(view: StatusView) -> Table:
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(style=DIM, no_wrap=True)
    facts.add_column(overflow="fold")
    target = view.target_version
    requested = f" (spec: {target})" if target and view.version not in ("", target) else ""
    facts.add_row("Version", safe(f"{view.version or 'not running yet'}{requested}"))
    count = view.voters
    voters = "" if count is None else f", {count} voter{'' if count == 1 else 's'}"
    facts.add_row("Leader", safe(f"{view.leader or 'unknown'}{voters}"))
    sealed = {"true": ("sealed", BAD), "false": ("unsealed", GOOD)}
    word, style = sealed.get(view.sealed, ("unknown", WARN))
    facts.add_row("Seal", Text.assemble(f"{view.seal}, ", (word, style)))
    facts.add_row("Certificate", _certificate(view))
    facts.add_row("Backup", safe(view.backup))
    facts.add_row("Operation", safe(view.operation or "none"))
    if view.lock:
        facts.add_row("Lock", safe(view.lock))
    facts.add_row("Age", view.age)
    return facts


def _certificate(view: StatusView) -> Text:
    if view.days_left is None:
        return safe(view.certificate or "unknown")
    style = BAD if view.days_left < 0 else WARN if view.days_left < EXPIRY_WARNING_DAYS else ""
    word = f"{view.days_left} days left" if view.days_left >= 0 else "expired"
    return Text(word, style)


def _servers(view: StatusView, *, wide: bool) -> Table | Text:
    if not view.pods:
        unread = "pods" in view.denied
        return Text("The server pods cannot be read." if unread else "No server pods.", WARN)
    columns = ["SERVER", "READY", "ROLE", "VOTER", "SEALED", "VERSION", "NODE"]
    servers = table(*columns, *(["RESTARTS", "AGE"] if wide else []))
    for row in view.pods:
        ready = Text("yes", GOOD) if row.ready else safe(f"no, {row.state}", BAD)
        cells: list[RenderableType] = [
            safe(row.pod),
            ready,
            row.role,
            row.voter,
            row.sealed,
            safe(row.version),
        ]
        cells.append(safe(row.node or "-"))
        servers.add_row(*cells, *([str(row.restarts), row.age] if wide else []))
    return servers


def _by_reason(conditions: Sequence[UnmetCondition]) -> list[UnmetCondition]:
    """Merge the conditions with the same reason into one that has the names of all of them.

    The message is that of the condition with the name of the reason, otherwise of the first one.
    """
    by_reason: dict[str, UnmetCondition] = {}
    for condition in conditions:
        previous = by_reason.get(condition.reason, condition)
        own_name = condition.condition
        names = own_name if previous is condition else f"{previous.condition}, {own_name}"
        with_message = condition if own_name == condition.reason else previous
        by_reason[condition.reason] = replace(with_message, condition=names)
    return list(by_reason.values())


def _condition_text(condition: UnmetCondition) -> RenderableType:
    lines = Text.assemble((condition.condition, WARN), f"  {condition.reason}")
    detail = [safe(condition.message)]
    if condition.next_step:
        detail.append(Text.assemble(("Next: ", DIM), safe(condition.next_step)))
    return Group(Padding(lines, (0, 0, 0, 2)), *(Padding(part, (0, 0, 0, 4)) for part in detail))


def listing(rows: Sequence[ListRow], *, wide: bool, namespaces: bool) -> Table:
    """Return the list of clusters."""
    more = ["CERT-DAYS"] if wide else []
    place = ["NAMESPACE"] if namespaces else []
    clusters = table(
        *place, "NAME", "READY", "VERSION", "LEADER", "SEALED", "BACKUP", *more, "AGE", "STATE"
    )
    for row in rows:
        days = ["" if row.days_left is None else str(row.days_left)] if wide else []
        state = row.operation or ("" if row.ready else row.reason)
        clusters.add_row(
            *([row.namespace] if namespaces else []),
            row.name,
            Text(row.servers, GOOD if row.ready else BAD),
            safe(row.version),
            safe(row.leader),
            row.sealed,
            row.backup_age,
            *days,
            row.age,
            safe(state),
        )
    return clusters
