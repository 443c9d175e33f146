"""Rules that each key occurs once in a list of a service.

Uses contracts.datacenter.rules.service. Collected by contracts.datacenter.rules.all_rules. The API
server enforces this by the list types, without CEL; for the result of a hook there are only these
rules.
"""

from collections.abc import Iterator, Sequence

from contracts.api.rules.rule import InvalidField
from contracts.api.values.field_path import value_at, values_at
from contracts.datacenter.rules.service import ServiceRule
from contracts.datacenter.service_spec import BootstrapService

KEYS: dict[str, str] = {
    "services": "name",
    "services[].dependsOn": "",
    "services[].env": "name",
    "services[].ports": "name",
    "services[].volumes": "name",
    "services[].configFiles": "path",
    "services[].secrets": "mountPath",
    "dependsOn": "",
    "imagePullSecrets": "name",
}
"""Each list of a service that is a map or a set, and the key of its items; "" for the items
themselves. A test compares it with the schema."""


def unique_names(path: str, services: Sequence[BootstrapService]) -> Iterator[InvalidField]:
    """Return the services of a list at `path` whose name equals that of an earlier one."""
    seen: set[str] = set()
    for at, service in enumerate(services):
        if service.name in seen:
            yield f"{path}[{at}].name", service.name
        seen.add(service.name)


def _rule(path: str, key: str) -> ServiceRule:
    def find(service: BootstrapService) -> Iterator[InvalidField]:
        for location, items in values_at(service, path):
            seen: set[str] = set()
            for at, item in enumerate(items):
                item_key = value_at(item, key) if key else item
                if item_key in seen:
                    yield f"{location}[{at}]{'.' if key else ''}{key}", item_key
                seen.add(item_key)

    return ServiceRule(
        id=f"unique-{path.replace('[]', '')}",
        at=path,
        field=path,
        message=f"must have each {key or 'entry'} once; remove one or change it",
        find=find,
    )


UNIQUE_RULES: tuple[ServiceRule, ...] = tuple(_rule(*entry) for entry in KEYS.items())
