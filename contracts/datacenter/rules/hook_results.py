"""Parses services that the API server did not validate, such as the result of a hook.

Uses contracts.datacenter.objects. Called by contracts.datacenter.rules.all_rules. Unlike in an
object that the API server has pruned, an unknown field is rejected here with its path: a request
for a privilege or another namespace gets the message that the field is unknown.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from pydantic import ValidationError

from contracts.api.api_object import schema_violations
from contracts.api.cluster.spec import LEVELS_MAX
from contracts.api.meta import ApiModel, thaw
from contracts.api.violation import Violation, format_value
from contracts.datacenter.objects import (
    SERVICES_MAX,
    VALUES_MAX,
    InvalidDatacenterError,
)
from contracts.datacenter.rules.openbao import UNKNOWN_MESSAGE
from contracts.datacenter.service_spec import BootstrapService
from runtime.limits.nesting import too_deep, too_many

Raw = Mapping[str, Any] | BootstrapService
_UNKNOWN = "Extra inputs are not permitted"


def service_list(raw: Iterable[Raw] | None, path: str) -> list[Raw]:
    """Return the items of a list of services at `path`; None is an empty one.

    Raises InvalidDatacenterError for a value that is not a list, and for a list that is too long.
    """
    if isinstance(raw, str | bytes | Mapping | BootstrapService) or not isinstance(
        raw, Iterable | None
    ):
        rule = "must be a list of services; use a list"
        raise InvalidDatacenterError([Violation(path, format_value(raw), "schema", rule)])
    items = list(islice(raw or (), SERVICES_MAX + 1))
    if len(items) > SERVICES_MAX:
        rule = f"must have at most {SERVICES_MAX} services; use several sources"
        raise InvalidDatacenterError([Violation(path, "", "schema", rule)])
    return items


def parse_service(raw: Raw, path: str) -> BootstrapService:
    """Parse one service at `path`, without a check of its rules.

    Field names may be camelCase or snake_case. Raises InvalidDatacenterError with a Violation per
    unknown or invalid field.
    """
    try:
        # A model may have been constructed without validation, so it is parsed again.
        return BootstrapService.model_validate(_json(raw, path), extra="forbid")
    except ValidationError as error:
        raise InvalidDatacenterError(
            [
                Violation(
                    violation.field.strip("."),
                    violation.value,
                    violation.rule,
                    UNKNOWN_MESSAGE if violation.message == _UNKNOWN else violation.message,
                )
                for violation in schema_violations(error, f"{path}.")
            ]
        ) from None


def _json(raw: Any, path: str) -> Any:
    """Return the value as JSON; raises InvalidDatacenterError if it cannot be encoded."""
    try:
        text = json.dumps(thaw(raw), ensure_ascii=False, allow_nan=False, default=_object)
        value = json.loads(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        cause = format_value(str(error))
        rule = f"must consist of mappings, lists, strings, numbers and booleans ({cause})"
        raise InvalidDatacenterError([Violation(path, "", "schema", rule)]) from None
    if too_many(value, VALUES_MAX):
        rule = f"must have at most {VALUES_MAX} values; split it into several services"
        raise InvalidDatacenterError([Violation(path, "", "size", rule)])
    if too_deep(value, LEVELS_MAX) is not None:
        rule = f"must not be nested deeper than {LEVELS_MAX} levels; reduce the nesting"
        raise InvalidDatacenterError([Violation(path, "", "depth", rule)])
    return value


def _object(value: Any) -> Any:
    if isinstance(value, ApiModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True, warnings="none")
    raise TypeError(f"type {type(value).__name__} is not supported")
