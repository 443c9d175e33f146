"""Keys of writes that are the same in the operator and in each run."""

from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import orjson

from runtime.builtin_kinds import EVENT, JOB

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, slots=True, order=True)
class WriteKey:
    """Verb, object and field manager of a write.

    Without the namespace: the same write happens in every namespace. Events have no name, because
    their names are random, and Jobs of upgrades only the prefix of their kind.
    """

    verb: str
    resource: str
    subresource: str
    name: str
    manager: str

    def __str__(self) -> str:
        what = "/".join(filter(None, (self.resource, self.name, self.subresource)))
        by = self.manager.removeprefix("openbao-operator-")
        return f"{self.verb} {what}" + (f" ({by})" if self.subresource else "")


def of_request(method: str, target: str, body: bytes | None) -> WriteKey:
    """Return the key of a request to send; `target` is path and query."""
    parts = urlsplit(target).path.strip("/").split("/")
    # api/v1/... or apis/group/version/..., then namespaces/NAME, then plural/name/subresource.
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    resource, name, subresource = (*rest, "", "")[:3]
    if not name and body and resource != EVENT.plural:
        name = orjson.loads(body)["metadata"]["name"]
    name = _stable_name(resource, name)
    return WriteKey(_VERBS[method], resource, subresource, name, _manager(target))


def _stable_name(resource: str, name: str) -> str:
    """Drop the random part of a name."""
    if resource == EVENT.plural:
        return ""
    upgrades = resource == JOB.plural and name.startswith("upgrade-")
    return name.rpartition("-")[0] if upgrades else name


def _manager(target: str) -> str:
    return parse_qs(urlsplit(target).query).get("fieldManager", [""])[0]
