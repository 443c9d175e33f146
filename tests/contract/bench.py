"""The environment of a case: a client, the wire below it, and a separate namespace."""

from dataclasses import dataclass
from typing import Any

import orjson

from runtime.builtin_kinds import CONFIG_MAP, STATEFUL_SET
from runtime.client.client import Client
from runtime.client.codec import APPLY_PATCH, JSON, JSON_PATCH, PARTIAL_OBJECT
from runtime.client.transport import HttpRequest, Wire
from runtime.clock import Clock, Deadline
from runtime.errors import ApiError
from runtime.types import Object, ObjectKey, Resource, resource_version_of

WAIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a watch."""

    type: str
    object: Object

    @property
    def word(self) -> str:
        name = self.object["metadata"].get("name", "")
        return f"{self.type} {name}".strip()


@dataclass(frozen=True, slots=True)
class Bench:
    """One server in a case. `real`: it is a real server, with behavior that the fake lacks."""

    client: Client
    wire: Wire
    namespace: str
    clock: Clock
    real: bool

    def config_map(self, name: str = "a", **data: str) -> Object:
        metadata: Object = {"name": name, "namespace": self.namespace}
        body: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        return {**body, "data": data} if data else body

    def stateful_set(self, **fields: Any) -> Object:
        """The smallest valid StatefulSet, with one container."""
        labels = {"app": "x"}
        container = {"name": "main", "image": "example.com/main:1"}
        return {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "s", "namespace": self.namespace},
            "spec": {
                "replicas": 1,
                "serviceName": "s",
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
                **fields,
            },
        }

    def key(self, name: str = "a") -> ObjectKey:
        return ObjectKey(self.namespace, name)

    async def create(self, name: str = "a", *, labels: Object | None = None, **data: str) -> Object:
        body = self.config_map(name, **data)
        if labels:
            body["metadata"]["labels"] = labels
        return await self.client.create(CONFIG_MAP, body, field_manager="creator")

    async def live(self, name: str = "a", resource: Resource = CONFIG_MAP) -> Object:
        return await self.client.get(resource, self.key(name))

    async def apply(self, body: Object, *, manager: str = "me", force: bool = False) -> Object:
        resource = STATEFUL_SET if body["kind"] == "StatefulSet" else CONFIG_MAP
        done = await self.client.apply(resource, body, field_manager=manager, force=force)
        return done.object

    async def send(self, call: HttpRequest) -> tuple[int, Object]:
        """Status and decoded body of a successful response."""
        answer = await self.wire.request(call)
        return answer.status, orjson.loads(answer.body)

    async def patch(self, ops: list[Object], name: str = "a") -> Object:
        return await self.client.json_patch(
            CONFIG_MAP, self.key(name), ops, field_manager="patcher"
        )

    def collection(self, resource: Resource = CONFIG_MAP, *, every: bool = False) -> str:
        return resource.path(None if every else self.namespace)

    async def listed(self, accept: str = JSON, **query: str) -> Object:
        return (await self.send(HttpRequest("GET", self.collection(), query, accept=accept)))[1]

    async def watched(
        self, count: int, *, until: str = "", partial: bool = False, **query: str
    ) -> list[Event]:
        """The first `count` events other than plain bookmarks, or all up to a type of event."""
        parameters = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": "60",
            **query,
        }
        call = HttpRequest(
            "GET", self.collection(), parameters, accept=PARTIAL_OBJECT if partial else JSON
        )
        events: list[Event] = []
        async with Deadline(self.clock, WAIT_SECONDS), self.wire.stream(call) as lines:
            async for line in lines:
                decoded = orjson.loads(line)
                event = Event(decoded["type"], decoded["object"])
                if event.type == "BOOKMARK" != until:
                    continue
                events.append(event)
                if event.type == until or (not until and len(events) == count):
                    break
        return events


async def refusal_of(doing: Any) -> ApiError:
    """The error that an awaitable raises; AssertionError if it raises none."""
    try:
        await doing
    except ApiError as error:
        return error
    raise AssertionError("the server accepted the request")


def rv(obj: Object) -> str:
    return resource_version_of(obj)


def number(obj: Object) -> int:
    return int(resource_version_of(obj))


def managers(obj: Object) -> dict[str, Object]:
    """managedFields by name and operation of the manager."""
    return {
        f"{entry['manager']} {entry['operation']}": entry["fieldsV1"]
        for entry in obj["metadata"]["managedFields"]
    }


__all__ = [
    "APPLY_PATCH",
    "JSON_PATCH",
    "Bench",
    "Event",
    "managers",
    "number",
    "refusal_of",
    "rv",
]
