"""Options, files and settings of the verbs of `baoctl`, and the output of their errors.

Uses click and baoctl.variables. Called by baoctl.cli and baoctl.verbs.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn, TypeVar

import click

from baoctl import variables
from baoctl.exit_codes import ExitCode, VerbError
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
            return super().make_context(info_name, args, parent, **extra)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            _end(_usage(error, error.ctx), ExitCode.USAGE)

    def invoke(self, ctx: click.Context) -> Any:
        """Execute the verb."""
        try:
            return super().invoke(ctx)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            _end(_usage(error, error.ctx or ctx), ExitCode.USAGE)
        except click.Abort:
            click.echo(err=True)
            _end("no answer: nothing was changed; --yes does not ask", ExitCode.ERROR)
        except SettingError as error:
            _end(str(error), ExitCode.USAGE)
        except VerbError as error:
            _end(str(error), error.exit_code)
        except KeyboardInterrupt:
            # The exit status of shells after SIGINT, which ends a watch.
            raise SystemExit(130) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or suggest similar ones."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            hint = suggestion(args[0], self.list_commands(ctx))
            raise click.UsageError(f"{error.message.rstrip('.')}{hint}", ctx) from None


def _end(text: str, code: ExitCode) -> NoReturn:
    click.echo(f"Error: {text}", err=True)
    raise click.exceptions.Exit(code) from None


def _usage(error: click.UsageError, ctx: click.Context | None) -> str:
    text = " ".join(error.format_message().split()).rstrip(".")
    help_of = f"; see {ctx.command_path} --help" if ctx else ""
    return f"{text}{help_of}"


def suggestion(word: str, known: Sequence[str]) -> str:
    """Return `; did you mean X?` for a word that is close to a known one, else ""."""
    by_folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold(), by_folded, n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(by_folded[name] for name in close)}?" if close else ""


Check = Callable[[click.Context, click.Parameter, Any], Any]


def fits(check: Callable[[str], bool], rule: str) -> Check:
    """Return a callback that refuses a value, or one of several values, that breaks a rule."""

    def callback(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        for text in (value,) if isinstance(value, str) else value or ():
            if not check(text):
                raise click.BadParameter(f"{text[:80]!r}: {rule}", ctx, param)
        return value

    return callback


def content_of(file: BinaryIO) -> bytes:
    """Read a file up to one byte more than the limit, at which it is refused."""
    from baoctl.yaml_text import TEXT_MAX

    try:
        return file.read(TEXT_MAX + 1)
    except OSError as error:
        raise click.FileError(file.name, error.strerror) from None


def confirm_name(name: str, consequence: str, *, err: bool = False) -> None:
    """Ask the user to type a name. Raises click.UsageError for another one.

    `err`: prompt on standard error, because a program reads the output.
    """
    typed = click.prompt(f"{consequence} Type {name} to continue", err=err)
    if typed != name:
        raise click.UsageError(f"{typed[:80]!r} is not {name}: nothing was changed")


@dataclass(frozen=True, slots=True)
class Access:
    """The API server, credentials and namespace of a verb; None for those of the kubeconfig."""

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    every_namespace: bool = False


_ACCESS = (
    click.option(
        "--kubeconfig",
        metavar="FILE",
        help="Kubeconfig to use.  [default: $KUBECONFIG, else ~/.kube/config]",
    ),
    click.option(
        "--context", metavar="NAME", help="Context of the kubeconfig.  [default: the current one]"
    ),
)
_NAMESPACE = click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    callback=fits(variables.is_namespace, variables.NAMESPACE),
    help="Namespace of the cluster.  [default: from the context]",
)
_EVERY_NAMESPACE = click.option(
    "-A",
    "--all-namespaces",
    "every_namespace",
    is_flag=True,
    help="Use the clusters of all namespaces.",
)


def reaches_api_server(verb: F) -> F:
    """Add --kubeconfig and --context to a verb, which gets them as `access`."""
    return _with_access(verb, _ACCESS)


def cluster_options(verb: F) -> F:
    """Add --kubeconfig, --context and -n to a verb, which gets them as `access`."""
    return _with_access(verb, (*_ACCESS, _NAMESPACE))


def reaches_clusters(verb: F) -> F:
    """Add --kubeconfig, --context, -n and -A to a verb, which gets them as `access`."""
    return _with_access(verb, (*_ACCESS, _NAMESPACE, _EVERY_NAMESPACE))


def _with_access(verb: F, options: Sequence[Callable[[Any], Any]]) -> F:
    @functools.wraps(verb)
    def call(
        *arguments: Any,
        kubeconfig: str | None,
        context: str | None,
        namespace: str | None = None,
        every_namespace: bool = False,
        **others: Any,
    ) -> Any:
        if namespace is not None and every_namespace:
            raise click.UsageError("-n and -A are mutually exclusive", click.get_current_context())
        access = Access(kubeconfig, context, namespace, every_namespace)
        return verb(*arguments, access=access, **others)

    command: Any = call
    for option in reversed(options):
        command = option(command)
    return command  # type: ignore[no-any-return]
