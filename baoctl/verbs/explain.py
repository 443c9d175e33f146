"""`baoctl explain`: the conditions, reasons and reconciliation steps of the operator.

Imports only click; a verb imports its module when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

import click

from baoctl.options import Verbs, suggestion


class ExplainVerbs(Verbs):
    """A group whose verb is optional before the name of a condition or a reason."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb, or the one that a name implies.

        A name that is both a condition and a reason implies the condition.
        """
        from baoctl.commands.explain import CONDITION_NAMES, REASON_NAMES

        word = args[0].casefold()
        for verb, names in (("conditions", CONDITION_NAMES), ("reasons", REASON_NAMES)):
            if word in map(str.casefold, names):
                return super().resolve_command(ctx, [verb, *args])
        if args[0] not in self.commands and not suggestion(args[0], self.list_commands(ctx)):
            return super().resolve_command(ctx, ["reasons", *args])
        return super().resolve_command(ctx, args)


@click.group("explain", cls=ExplainVerbs)
def explain_group() -> None:
    """Explain conditions, reasons and the steps of a reconciliation.

    `baoctl explain NAME` explains the condition or the reason of this name.
    """


@explain_group.command("reasons")
@click.argument("reason", required=False)
def explain_reasons(reason: str | None) -> None:
    """Explain a REASON, or list them all."""
    from baoctl.commands.explain import REASON_NAMES, matching_name, reason_text

    for name in [matching_name(reason, "reason", REASON_NAMES)] if reason else REASON_NAMES:
        click.echo(reason_text(name))


@explain_group.command("conditions")
@click.argument("condition", required=False)
def explain_conditions(condition: str | None) -> None:
    """Explain a CONDITION and its reasons, or list all conditions."""
    from baoctl.commands.explain import (
        CONDITION_NAMES,
        condition_lines,
        condition_texts,
        matching_name,
    )

    if condition is None:
        click.echo("\n".join(condition_lines()))
        return
    click.echo(condition_texts(matching_name(condition, "condition", CONDITION_NAMES)), nl=False)


@explain_group.command("steps")
def explain_steps() -> None:
    """List the steps of a reconciliation in their order."""
    from managers.cluster.plan.step_texts import STEP_TEXTS

    for number, (name, text) in enumerate(STEP_TEXTS.items(), start=1):
        click.echo(f"{number}. {name}: {text}")
