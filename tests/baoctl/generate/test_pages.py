"""baoctl.generate.pages."""

import click

from baoctl.cli import main
from baoctl.generate.pages import command_page, decision_page


@click.group()
def program() -> None:
    """Do things."""


@program.command()
@click.option("--much", help="How much.")
def one(much: str) -> None:
    """Do one thing."""


@program.command(hidden=True)
def two() -> None:
    """Do another one."""


def test_the_page_has_the_help_of_every_command() -> None:
    page = command_page(program)
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## Exit statuses",
        "## Rights",
        "## baoctl",
        "## baoctl one",
    ]
    assert "Usage: baoctl one [OPTIONS]\n\n  Do one thing.\n" in page
    assert "  --much TEXT  How much.\n" in page


def test_the_page_of_baoctl_has_its_commands_at_every_depth() -> None:
    page = command_page(main)
    assert all(f"\n## baoctl {name}\n" in page for name in ("status", "upgrade plan"))
    assert "\n## baoctl run\n" not in page


def test_decisions_are_grouped_by_day() -> None:
    records = [("20261121-b.md", "# B\n\nx"), ("20261122-c.md", "# C"), ("20261121-a.md", "# A")]
    assert decision_page(records).partition("## ")[2] == (
        "2026-11-22\n\n- [C](adr/20261122-c.md)\n"
        "\n## 2026-11-21\n\n- [A](adr/20261121-a.md)\n- [B](adr/20261121-b.md)\n"
    )
