"""The command line of the demo."""

import http.client
import subprocess
import sys
from collections.abc import Callable

import click

from e2e.demo.api import ApiError
from e2e.demo.environment import ClusterEnvironment, Environment, RigEnvironment
from e2e.demo.errors import DemoError
from e2e.demo.manifests import Installation
from e2e.demo.screen import Screen
from e2e.demo.steps import run
from e2e.rig import Rig, RigError

QUIET_SECONDS = 20.0


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--cluster",
    type=click.Choice(["rig", "existing"]),
    envvar="CLUSTER",
    default="rig",
    show_default=True,
    help="A rig of its own on this machine (needs root), or the cluster of your KUBECONFIG.",
)
@click.option("--name", envvar="RIG", default="demo", show_default=True, help="Which rig.")
@click.option("--operator-image", envvar="OPERATOR_IMAGE", default="", help="existing: its name.")
@click.option(
    "--pull-policy",
    envvar="IMAGE_PULL_POLICY",
    type=click.Choice(["Always", "IfNotPresent", "Never"]),
    default="IfNotPresent",
    show_default=True,
    help="existing: when nodes pull the operator image.",
)
@click.option(
    "--openbao-image",
    envvar="OPENBAO_IMAGE_REPOSITORY",
    default="openbao/openbao",
    show_default=True,
    help="existing: repository of the server image; the tag is the version.",
)
@click.option(
    "--quiet",
    type=click.FloatRange(min=0),
    default=QUIET_SECONDS,
    show_default=True,
    help="Seconds to count requests while nothing happens.",
)
def main(
    cluster: str,
    name: str,
    operator_image: str,
    pull_policy: str,
    openbao_image: str,
    quiet: float,
) -> None:
    """Create an OpenBao cluster and test that it survives the loss of its leader.

    It can be run repeatedly: it replaces the cluster of the last run.
    """

    def environment(screen: Screen) -> Environment:
        if cluster == "rig":
            return RigEnvironment(Rig(name, screen.say))
        return ClusterEnvironment(Installation(operator_image, pull_policy, openbao_image))

    sys.exit(run_with_screen(lambda screen: run(environment(screen), screen, quiet)))


def run_with_screen(work: Callable[[Screen], None]) -> int:
    """Run the demo with a screen; return the exit status. Known errors have no traceback."""
    with Screen() as screen:
        try:
            work(screen)
        except (RigError, DemoError, ApiError, OSError, http.client.HTTPException) as error:
            screen.error(f"The demo failed: {error}")
            return 1
        except subprocess.TimeoutExpired as error:
            screen.error(f"The demo failed: {error}")
            return 1
        except KeyboardInterrupt:
            screen.error("Interrupted. Run it again to continue.")
            return 130
    return 0
