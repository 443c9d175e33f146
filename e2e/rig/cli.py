"""The command line: python -m e2e.rig up|down|status|env|image|exec|logs|build."""

import os
import shlex
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import click

from e2e.rig import binaries, builds, images, operator_image, slots, stores
from e2e.rig.errors import RigError
from e2e.rig.processes import uptime_seconds
from e2e.rig.rig import Rig
from e2e.rig.versions import (
    CONTROL_PLANE,
    KUBE_ROUTER_SERVER,
    MINIO_SERVER,
    NODE,
    OPENBAO,
    OPENBAO_OLDEST_SERVER,
    OPENBAO_UPGRADES,
)

Command = Callable[..., None]
_name = click.option("--name", default="demo", show_default=True, help="Name of the rig.")


def _versions(*usual: str) -> Callable[[Command], Command]:
    return click.option(
        "--openbao",
        "versions",
        multiple=True,
        default=usual,
        show_default=True,
        help="Version of an OpenBao image; repeatable.",
    )


class _Group(click.Group):
    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except RigError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Run a one-node Kubernetes cluster of real servers, built from source."""


@main.command()
@_name
@_versions(OPENBAO)
@click.option("--control-plane", is_flag=True, help="Only etcd and kube-apiserver; no root needed.")
def up(name: str, versions: tuple[str, ...], control_plane: bool) -> None:
    """Start a rig. After a failure, run it again to continue."""
    rig = Rig(name)
    rig.up(control_plane=control_plane, images=versions)
    rig.progress(f"rig {name} is up: eval $(python -m e2e.rig env --name {name})")


@main.command()
@_name
@click.option("--all", "everything", is_flag=True, help="Every rig of this cache.")
def down(name: str, everything: bool) -> None:
    """Remove a rig: its processes, pods, mounts, network and files."""
    names = sorted(slots.assignments(Rig(name).cache)) if everything else [name]
    for rig_name in names:
        Rig(rig_name).down()


@main.command()
@_name
def env(name: str) -> None:
    """Print the shell commands that configure kubectl for the rig."""
    rig = Rig(name)
    if not rig.exists:
        raise RigError(f"rig {name} does not exist: run up first")
    click.echo(f"export KUBECONFIG={shlex.quote(str(rig.kubeconfig))}")
    click.echo(f'export PATH={shlex.quote(str(rig.paths.bin))}:"$PATH"')


@main.command()
@_name
@click.option("--all", "everything", is_flag=True, help="One line per rig of this cache.")
def status(name: str, everything: bool) -> None:
    """Show components, node and pods of a rig, or all rigs."""
    if everything:
        for slot in sorted(slots.assignments(Rig(name).cache)):
            _summary(Rig(slot))
        return
    rig = Rig(name)
    for component in rig.components():
        process = rig.table.running(component)
        state = f"{process.pid:>8}  {uptime_seconds(process):8.0f} s" if process else "    gone"
        click.echo(f"{component:<26}{state}")
    if not rig.layout.control_plane_only:
        click.echo(rig.kubectl("get", "nodes,pods", "-A", "-o", "wide").rstrip())


def _summary(rig: Rig) -> None:
    if not rig.exists:
        click.echo(f"{rig.name:<32}incomplete")
        return
    names = rig.components()
    alive = sum(rig.running(name) for name in names)
    kind = "control plane" if rig.layout.control_plane_only else "node"
    click.echo(f"{rig.name:<32}{kind:<14}{alive}/{len(names)} running  {rig.server}")


@main.command(name="exec", context_settings={"ignore_unknown_options": True})
@_name
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_(name: str, command: tuple[str, ...]) -> None:
    """Run a command in the network namespace of the rig, with KUBECONFIG set."""
    rig = Rig(name)
    argv = rig.inside(*command)
    os.execvpe(argv[0], argv, rig.environment())  # noqa: S606 -- the caller's own command


@main.command()
@_name
@click.option("-f", "--follow", is_flag=True, help="Follow the log.")
@click.argument("component")
def logs(name: str, follow: bool, component: str) -> None:
    """Print the log of a component."""
    rig = Rig(name)
    log = rig.table.log(component)
    if not log.exists():
        raise RigError(f"no log of {component!r}: {', '.join(rig.components())}")
    argv = ["tail", "-n", "+1", *(["-F"] if follow else []), str(log)]
    os.execvp(argv[0], argv)  # noqa: S606 -- tail of our own file


@main.command()
@_name
def image(name: str) -> None:
    """Build the operator image from the checkout, and load it if the rig is running."""
    rig = Rig(name)
    if rig.exists:
        click.echo(rig.load_operator_image())
    else:
        operator_image.build(rig.cache, rig.progress)
        click.echo(f"built, but not loaded: rig {name} does not exist", err=True)


@main.command()
@_versions(*OPENBAO_UPGRADES)
def build(versions: tuple[str, ...]) -> None:
    """Build all servers and image archives that are not cached."""
    rig = Rig()
    # The stores wait for the network while go uses every core.
    with ThreadPoolExecutor(1) as pool:
        installed = pool.submit(stores.install, rig.cache, rig.progress)
        binaries.obtain(rig.cache, (*CONTROL_PLANE, *NODE), rig.progress)
        images.server_images(rig.cache, versions, rig.progress)
        # Servers that only tests start: their builds exceed the time limits of tests.
        builds.build(
            rig.cache, (OPENBAO_OLDEST_SERVER, MINIO_SERVER, KUBE_ROUTER_SERVER), rig.progress
        )
        installed.result()
