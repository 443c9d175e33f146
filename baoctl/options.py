"""Options, files and prompts of the verbs of `baoctl`, and the output of their errors.

Uses click and baoctl.variables. Called by baoctl.cli, baoctl.verbs and baoctl.commands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn, TypeVar

import click

from baoctl.exit_codes import ExitCode, VerbError
from baoctl.standard_streams import INTERRUPTED, output_errors, print_error
from baoctl.variables import SettingError

F = TypeVar("F", bound=Callable[..., Any])

DRY_RUN = click.option(
    "--dry-run", is_flag=True, help="Let the API server validate the request; change nothing."
)
MANIFEST = click.option(
    "-f",
    "--filename",
    type=click.File("rb"),
    required=True,
    help="Manifest of one or more clusters; - reads standard input.",
)
YES = click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")


def output_option(*formats: str) -> Callable[[F], F]:
    """Return the option -o; the first format is the default."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="Output format.",
    )


class Verbs(click.Group):
    """A group of verbs that prints each error as one line, and suggests a verb for a typo."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Parse the options before the verb."""
        try:
            with output_errors():
                return super().make_context(info_name, args, parent, **extra)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            _exit_with(_usage(error, error.ctx), ExitCode.USAGE)

    def invoke(self, ctx: click.Context) -> Any:
        """Execute the verb."""
        try:
            with output_errors():
                return super().invoke(ctx)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            _exit_with(_usage(error, error.ctx or ctx), ExitCode.USAGE)
        except click.Abort as error:
            click.echo(err=True)
            if isinstance(error.__context__, KeyboardInterrupt):
                raise SystemExit(INTERRUPTED) from None
            _exit_with("no answer: nothing was changed; --yes skips the prompt", ExitCode.ERROR)
        except SettingError as error:
            _exit_with(str(error), ExitCode.USAGE)
        except VerbError as error:
            _exit_with(str(error), error.exit_code)
        except OSError as error:
            if self._is_in_pod(ctx):
                # The error is not caught, so that the log contains the traceback.
                raise
            _exit_with(f"{_cause(error)}; correct the cause, and try again", ExitCode.ERROR)
        except KeyboardInterrupt:
            raise SystemExit(INTERRUPTED) from None

    def _is_in_pod(self, ctx: click.Context) -> bool:
        verb = self.get_command(ctx, ctx.invoked_subcommand or "")
        return verb is not None and verb.hidden

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or suggest similar ones."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            hint = suggestion(args[0], self.list_commands(ctx))
            raise click.UsageError(f"{error.message.rstrip('.')}{hint}", ctx) from None


def _exit_with(text: str, code: ExitCode) -> NoReturn:
    print_error(text)
    raise click.exceptions.Exit(code) from None


def _cause(error: OSError) -> str:
    text = " ".join((error.strerror or str(error)).split())
    return f"{error.filename}: {text}" if error.filename else text


def _usage(error: click.UsageError, ctx: click.Context | None) -> str:
    text = " ".join(error.format_message().split()).rstrip(".")
    help_of = f"; see {ctx.command_path} --help" if ctx else ""
    return f"{text}{help_of}"


def suggestion(word: str, candidates: Sequence[str]) -> str:
    """Return `; did you mean X?` for a word that is similar to a known one, else ""."""
    by_folded = {name.casefold(): name for name in candidates}
    # Only for errors.
    import difflib

    close = difflib.get_close_matches(word.casefold(), by_folded, n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(by_folded[name] for name in close)}?" if close else ""


Check = Callable[[click.Context, click.Parameter, Any], Any]


def fits(check: Callable[[str], bool], rule: str) -> Check:
    """Return a callback that raises click.BadParameter if a value does not pass a check.

    The callback also accepts an option with several values.
    """

    def callback(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        for text in (value,) if isinstance(value, str) else value or ():
            if not check(text):
                raise click.BadParameter(f"{text[:80]!r}: {rule}", ctx, param)
        return value

    return callback


def content_of(file: BinaryIO) -> bytes:
    """Read at most TEXT_MAX + 1 bytes of a file: yaml_text refuses a text above TEXT_MAX."""
    from baoctl.yaml_text import TEXT_MAX

    try:
        return file.read(TEXT_MAX + 1)
    except OSError as error:
        raise click.FileError(file.name, error.strerror) from None


def prompt(text: str, **options: Any) -> Any:
    """Prompt the user, and return the answer.

    Ctrl-C interrupts the prompt immediately. The signal handler of asyncio.run would only cancel
    the task, which the prompt blocks.
    """
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        return click.prompt(text, **options)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return click.prompt(text, **options)
    finally:
        signal.signal(signal.SIGINT, handler)


def confirm_name(name: str, consequence: str, *, err: bool = False) -> None:
    """Ask the user to type a name. Raises click.UsageError for another name.

    `err`: prompt on standard error, because a program reads standard output.
    """
    answer = prompt(f"{consequence} Type {name} to continue", err=err)
    if answer != name:
        raise click.UsageError(f"{answer[:80]!r} is not {name}: nothing was changed")


@dataclass(frozen=True, slots=True)
class Access:
    """The kubeconfig, context and namespace of a verb; None selects the default of kubectl."""

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    all_namespaces: bool = False
