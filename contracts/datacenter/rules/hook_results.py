"""Reads services that no API server has validated, such as the result of a hook.

Uses contracts.datacenter.objects. Called by contracts.datacenter.rules.all_rules. Unlike in an
object that the API server has pruned, an unknown field is refused here with its path: a request
for a host path, a privilege or another namespace gets the message that no such field exists.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from pydantic import ValidationError

from contracts.api.api_object import schema_violations
from contracts.api.cluster.spec import LEVELS_MAX
from contracts.api.meta import ApiModel, thaw
from contracts.api.violation import Violation, shown
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


def listed(raw: Iterable[Raw] | None, path: str) -> list[Raw]:
    """The items of a list of services at `path`; None is an empty one.

    Raises InvalidDatacenterError for anything that is no list, or too long a one.
    """
    if isinstance(raw, str | bytes | Mapping | BootstrapService) or not isinstance(
        raw, Iterable | None
    ):
        rule = "must be a list of services; put the service into a list"
        raise InvalidDatacenterError([Violation(path, shown(raw), "schema", rule)])
    items = list(islice(raw or (), SERVICES_MAX + 1))
    if len(items) > SERVICES_MAX:
        rule = f"must hold at most {SERVICES_MAX} services; spread them over several sources"
        raise InvalidDatacenterError([Violation(path, "", "schema", rule)])
    return items


def shaped(raw: Raw, path: str) -> BootstrapService:
    """Read one service at `path`, its fields in camelCase or snake_case; judges none of its rules.

    Raises InvalidDatacenterError with a Violation per field that is unknown or unreadable.
    """
    try:
        # What was made without validation, or changed by force, is read like anything else.
        return BootstrapService.model_validate(_json(raw, path), extra="forbid")
    except ValidationError as error:
        raise InvalidDatacenterError(
            [
                Violation(
                    one.field.strip("."),
                    one.value,
                    one.rule,
                    UNKNOWN_MESSAGE if one.message == _UNKNOWN else one.message,
                )
                for one in schema_violations(error, f"{path}.")
            ]
        ) from None


def _json(raw: Any, path: str) -> Any:
    """The value as JSON would carry it; raises InvalidDatacenterError for what is none."""
    try:
        text = json.dumps(thaw(raw), ensure_ascii=False, allow_nan=False, default=_object)
        value = json.loads(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        rule = f"must be made of mappings, lists, texts, numbers and truths ({shown(str(error))})"
        raise InvalidDatacenterError([Violation(path, "", "schema", rule)]) from None
    if too_many(value, VALUES_MAX):
        rule = f"must hold at most {VALUES_MAX} values; make several services of it"
        raise InvalidDatacenterError([Violation(path, "", "size", rule)])
    if too_deep(value, LEVELS_MAX) is not None:
        rule = f"must not be nested deeper than {LEVELS_MAX} levels; make it flatter"
        raise InvalidDatacenterError([Violation(path, "", "depth", rule)])
    return value


def _object(value: Any) -> Any:
    if isinstance(value, ApiModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True, warnings="none")
    raise TypeError(f"{type(value).__name__} is none of them")
