"""The violations of a document as sets."""

from collections.abc import Callable

from contracts.api.violation import Violation
from contracts.datacenter.objects import InvalidDatacenterError


def violations_of(call: Callable[[], object]) -> tuple[Violation, ...]:
    """The violations that a call raises; empty if it raises none."""
    try:
        call()
    except InvalidDatacenterError as error:
        return error.violations
    return ()


def broken_rules(violations: tuple[Violation, ...]) -> set[tuple[str, str]]:
    return {(violation.rule, violation.field) for violation in violations}
