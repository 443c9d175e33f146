"""Records watch events with their times, for progress lines and timelines."""

import functools
import http.client
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self, cast

import orjson

from e2e.demo.api import METADATA_LIST, METADATA_ONLY, Api, ApiError
from e2e.demo.objects import Object, name_of, uid_of

Change = Literal["ADDED", "MODIFIED", "DELETED"]
_CHANGES = frozenset({"ADDED", "MODIFIED", "DELETED"})
_RETRY_SECONDS = 0.2


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """The order of a write, and the time at which it was observed.

    The delays of watches differ, so the order of arrival is not that of the writes of two kinds.
    Their resourceVersions are in order: one etcd stores every kind, and counts all writes.
    (KEP-5504 guarantees the order for one kind only, so the operator does not rely on it.)
    """

    revision: int
    at: float = field(compare=False)
    """time.monotonic() at its arrival."""

    def __sub__(self, earlier: "Moment") -> float:
        """Return the seconds between two arrivals."""
        return self.at - earlier.at


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One watch event.

    ``at`` is time.monotonic() at its arrival, ``kind`` the plural name of the resource.
    """

    at: float
    kind: str
    change: Change
    object: Object

    @property
    def moment(self) -> Moment:
        """When it was written."""
        return moment_of(self.object, self.at)


@dataclass(frozen=True, slots=True)
class View:
    """One watch: the path of a list, and whether metadata is enough (Secrets)."""

    kind: str
    path: str
    metadata_only: bool = False


def cluster_views(namespace: str) -> tuple[View, ...]:
    """Return the views of the clusters of a namespace, which does not have to exist."""
    core = f"/api/v1/namespaces/{namespace}"
    return (
        View(
            "openbaoclusters", f"/apis/openbao.org/v1alpha1/namespaces/{namespace}/openbaoclusters"
        ),
        View("statefulsets", f"/apis/apps/v1/namespaces/{namespace}/statefulsets"),
        View("pods", f"{core}/pods"),
        View("services", f"{core}/services"),
        View("configmaps", f"{core}/configmaps"),
        View("serviceaccounts", f"{core}/serviceaccounts"),
        View("secrets", f"{core}/secrets", metadata_only=True),
    )


@dataclass(slots=True)
class Journal:
    """All watch events of the views, in order of arrival. A context manager.

    On entering, each view is listed once: existing objects are known, and not recorded.
    """

    api: Api
    views: Sequence[View]
    _entries: list[JournalEntry] = field(default_factory=list)
    _alive: dict[str, dict[str, Object]] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _stopped: bool = False

    def __enter__(self) -> Self:
        for view in self.views:
            version = self._list(view, initial=True)
            threading.Thread(target=self._follow, args=(view, version), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The threads end when the proxy closes their connections; nothing more is recorded.
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def entries(self) -> list[JournalEntry]:
        """Return the events so far."""
        with self._changed:
            return list(self._entries)

    def alive(self, kind: str) -> list[Object]:
        """Return the existing objects, as last observed, by name."""
        with self._changed:
            objects = self._alive.get(kind, {}).values()
            return sorted(objects, key=name_of)

    def find(self, kind: str, name: str) -> Object | None:
        """Return one object, as last observed."""
        return next((obj for obj in self.alive(kind) if name_of(obj) == name), None)

    def wait(self, seconds: float) -> None:
        """Wait for the next event, at most ``seconds``."""
        with self._changed:
            self._changed.wait(seconds)

    def catch_up(self, seconds: float) -> bool:
        """Wait until the watches have delivered the current lists; False after ``seconds``."""
        end = time.monotonic() + seconds
        for view in self.views:
            listed = self._read(view)
            with self._changed:
                shown = self._changed.wait_for(
                    functools.partial(self._has, view.kind, listed), end - time.monotonic()
                )
            if not shown:
                return False
        return True

    def _has(self, kind: str, listed: Object) -> bool:
        """Whether each listed object was observed in this or a later state or deleted, and no other
        exists."""
        items = _items(listed)
        alive = self._alive.get(kind, {})
        gone = {uid_of(entry.object) for entry in self._entries if entry.change == "DELETED"}
        at = _version(listed)
        return all(
            uid in gone or (uid in alive and _version(alive[uid]) >= _version(item))
            for uid, item in items.items()
        ) and all(uid in items or _version(obj) > at for uid, obj in alive.items())

    def _read(self, view: View) -> Object:
        return self.api.get(view.path, METADATA_LIST if view.metadata_only else {})

    def _list(self, view: View, *, initial: bool) -> str:
        listed = self._read(view)
        items = _items(listed)
        with self._changed:
            known = self._alive.setdefault(view.kind, {})
            if initial:
                known.update(items)
            else:
                for uid in [uid for uid in known if uid not in items]:
                    self._note(view.kind, "DELETED", known[uid])
                for item in items.values():
                    self._note(view.kind, "ADDED", item)
        return str(_version(listed))

    def _follow(self, view: View, version: str) -> None:
        while not self._stopped:
            try:
                # "" after a watch has ended: a list finds the events that it may have missed.
                version = version or self._list(view, initial=False)
                self._watch(view, version)
            except (OSError, ApiError, ValueError, http.client.HTTPException):
                time.sleep(_RETRY_SECONDS)
            version = ""

    def _watch(self, view: View, version: str) -> None:
        headers: Mapping[str, str] = METADATA_ONLY if view.metadata_only else {}
        for line in self.api.watch(view.path, version, headers):
            event = orjson.loads(line)
            if event["type"] == "ERROR":
                return
            if event["type"] in _CHANGES:
                with self._changed:
                    self._note(view.kind, cast(Change, event["type"]), event["object"])

    def _note(self, kind: str, change: Change, obj: Object) -> None:
        if self._stopped:
            return
        known = self._alive.setdefault(kind, {})
        before = known.get(uid_of(obj))
        if change == "DELETED":
            known.pop(uid_of(obj), None)
        elif before is not None and _version(before) == _version(obj):
            return
        else:
            known[uid_of(obj)] = obj
        self._entries.append(JournalEntry(time.monotonic(), kind, change, obj))
        self._changed.notify_all()


def _items(listed: Object) -> dict[str, Object]:
    return {uid_of(item): item for item in listed["items"] or ()}


def moment_of(obj: Object, at: float) -> Moment:
    """Return when this version of an object was written, given when it was observed."""
    return Moment(_version(obj), at)


def _version(obj: Object) -> int:
    """The resourceVersion; those of one resource are in order (KEP-5504)."""
    return int(obj["metadata"].get("resourceVersion") or 0)
