"""What the rules say of a document."""

from collections.abc import Callable

from contracts.api.violation import Violation
from contracts.datacenter.objects import InvalidDatacenterError


def violations_of(call: Callable[[], object]) -> tuple[Violation, ...]:
    """What is wrong according to a call; empty when it goes well."""
    try:
        call()
    except InvalidDatacenterError as error:
        return error.violations
    return ()


def broken_rules(violations: tuple[Violation, ...]) -> set[tuple[str, str]]:
    return {(violation.rule, violation.field) for violation in violations}
