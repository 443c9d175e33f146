"""How the verbs of `baoctl` take options, files and settings, and what they refuse.

Uses click and baoctl.variables. Called by baoctl.cli.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO

import click

from baoctl.variables import SettingError


class ConfigError(click.ClickException):
    """A setting of the environment makes no sense: one line, as for an option that does."""

    exit_code = 2


class Verbs(click.Group):
    """Tells of a setting that makes no sense in one line, whichever verb reads it."""

    def invoke(self, ctx: click.Context) -> Any:
        """Do the verb."""
        try:
            return super().invoke(ctx)
        except SettingError as error:
            raise ConfigError(str(error)) from None


Check = Callable[[click.Context, click.Parameter, Any], Any]


def fits(check: Callable[[str], bool], rule: str) -> Check:
    """Make a callback that refuses a value, or one of several, which breaks a rule."""

    def callback(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        for one in (value,) if isinstance(value, str) else value or ():
            if not check(one):
                raise click.BadParameter(f"{one[:80]!r}: {rule}", ctx, param)
        return value

    return callback


def content_of(file: BinaryIO) -> bytes:
    """Read a file, and no more of one that has no end than it takes to refuse it."""
    from baoctl.yaml_text import TEXT_MAX

    try:
        return file.read(TEXT_MAX + 1)
    except OSError as error:
        raise click.FileError(file.name, error.strerror) from None
