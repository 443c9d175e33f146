"""The verb that prints completion scripts, and the completion of `kubectl bao`.

Imports only click. Called by baoctl.cli.
"""

from __future__ import annotations

import sys
from typing import Final

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
)

# Directives of cobra for the last line: also complete file names, or only the printed candidates.
_FILES: Final = ":0"
_NO_FILES: Final = ":4"


@add_completion_class
class KubectlComplete(ShellComplete):
    """Completes `kubectl bao`: kubectl runs kubectl_complete-bao with the words of the command.

    The last word is the one to complete. Source: k8s.io/kubectl, cmd/plugin/plugin_completion.go.
    """

    name = "kubectl"
    source_template = '#!/bin/sh\n%(complete_var)s=kubectl_complete exec %(prog_name)s "$@"\n'

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the last one, and the last one, which is incomplete."""
        *complete, last = sys.argv[1:] or [""]
        return complete, last

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Return the line of a candidate in the format of cobra."""
        return f"{item.value}\t{item.help}" if item.help else item.value

    def complete(self) -> str:
        """Return the lines for kubectl."""
        items = self.get_completions(*self.get_completion_args())
        plain = [item for item in items if item.type == "plain"]
        directive = _NO_FILES if len(plain) == len(items) else _FILES
        return "\n".join([*map(self.format_completion, plain), directive])


_PROGRAMS: Final = {
    "bash": "baoctl",
    "zsh": "baoctl",
    "fish": "baoctl",
    KubectlComplete.name: "kubectl-bao",
}


@click.command("completion")
@click.argument("shell", type=click.Choice([*_PROGRAMS]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell, or for kubectl.

    For baoctl in bash, add this line to ~/.bashrc: source <(baoctl completion bash)

    For kubectl bao, save the script for kubectl as the executable file kubectl_complete-bao on
    your PATH. It requires the completion of kubectl (kubectl completion --help).
    """
    completion, program = get_completion_class(shell), _PROGRAMS[shell]
    if completion is None:
        raise click.UsageError(f"there is no completion for {shell}", ctx)
    variable = f"_{program.replace('-', '_')}_COMPLETE".upper()
    click.echo(completion(ctx.find_root().command, {}, program, variable).source())
