"""How every demo begins and ends."""

import http.client
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from e2e.demo import table, trouble
from e2e.demo.api import Api, ApiError, connect
from e2e.demo.errors import DemoError
from e2e.demo.install import install
from e2e.demo.place import Place
from e2e.demo.sample import Sample
from e2e.demo.screen import Screen, duration
from e2e.harness.waiting import NotSoError


@contextmanager
def operator_in(place: Place, screen: Screen, title: str) -> Iterator[tuple[Api, Sample]]:
    """Install the operator for the body, and show the state of the cluster after an error of it.

    Raises DemoError, RigError, ApiError, OSError.
    """
    screen.heading(f"OpenBao operator, {title} {place.title}")
    with screen.step("Kubernetes"):
        place.up(screen)
    with screen.step("The operator image"):
        installation = place.image(screen)
    with connect(place.kubectl) as api:
        sample = Sample.load()
        try:
            with screen.step("The operator: two replicas, one leader"):
                install(place.kubectl, api, installation, screen)
            yield api, sample
        except NotSoError as error:
            raise DemoError(str(error)) from error
        except (DemoError, ApiError, OSError, http.client.HTTPException):
            screen.waiting("")
            trouble.show(place.kubectl, api, sample.home, sample.name, screen)
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
