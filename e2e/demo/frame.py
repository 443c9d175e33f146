"""The start and the end of every demo."""

import http.client
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from e2e.demo import diagnostics, table
from e2e.demo.api import Api, ApiError, connect
from e2e.demo.environment import Environment
from e2e.demo.errors import DemoError
from e2e.demo.install import install
from e2e.demo.sample import Sample
from e2e.demo.screen import Screen, duration
from e2e.harness.waiting import ExpectationError


@contextmanager
def operator_in(
    environment: Environment, screen: Screen, title: str
) -> Iterator[tuple[Api, Sample]]:
    """Install the operator for the body, and show the state of the cluster after an error of it.

    Raises DemoError, RigError, ApiError, OSError.
    """
    screen.heading(f"OpenBao operator, {title} {environment.title}")
    with screen.step("Kubernetes"):
        environment.up(screen)
    with screen.step("The operator image"):
        installation = environment.image(screen)
    with connect(environment.kubectl) as api:
        sample = Sample.load()
        try:
            with screen.step("The operator: two replicas, one leader"):
                install(environment.kubectl, api, installation, screen)
            yield api, sample
        except ExpectationError as error:
            raise DemoError(str(error)) from error
        except (DemoError, ApiError, OSError, http.client.HTTPException):
            screen.waiting("")
            diagnostics.show(environment.kubectl, api, sample.home, sample.name, screen)
            raise


def print_durations(screen: Screen) -> None:
    """Print the durations of the steps."""
    screen.heading("Durations")
    rows = [(step.title, duration(step.seconds)) for step in screen.steps]
    screen.plain(table.plain(("step", "took"), [*rows, ("all", duration(screen.elapsed))]))


def print_commands(screen: Screen, heading: str, commands: Iterable[str]) -> None:
    """Print commands for the user below a heading."""
    screen.heading(heading)
    for command in commands:
        screen.plain(f"  {command}")
