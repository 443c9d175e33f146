"""The writes of the fake server: create, update, patch, apply, delete.

Pure except for the storage. Called by the server, which has resolved the kind and decoded the body.
"""

import random
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from runtime.builtin_kinds import NAMESPACE
from runtime.client.codec import APPLY_PATCH, JSON_PATCH
from runtime.testing.api_server.answers import (
    MODIFIED,
    Cause,
    RefusedAnswer,
    about,
    already_exists,
    bad_request,
    conflict,
    invalid,
    new_uid,
    not_found,
)
from runtime.testing.api_server.apply import Application, apply_request
from runtime.testing.api_server.kinds import Kind
from runtime.testing.api_server.managed import Who, after_update
from runtime.testing.api_server.patching import Impossible, apply_json_patch, apply_merge_patch
from runtime.testing.api_server.storage import ObjectStorage
from runtime.types import Object, ObjectKey

_KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_SUFFIX = string.ascii_lowercase + string.digits


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """The target of a write; manager is the default field manager."""

    kind: Kind
    key: ObjectKey
    subresource: str = ""
    manager: str = "unknown"
    query: Mapping[str, str] | None = None

    @property
    def dry_run(self) -> bool:
        return bool((self.query or {}).get("dryRun"))

    @property
    def name(self) -> str:
        return self.key.name


class Writes:
    """The writes of a server. now is the wall time, rng generates uids and name suffixes."""

    def __init__(
        self, storage: ObjectStorage, now: Callable[[], datetime], rng: random.Random
    ) -> None:
        self._storage = storage
        self._now = now
        self._rng = rng
        self.strict_namespaces = False

    def create(self, target: WriteTarget, body: Object) -> Object:
        """Create an object; 409 AlreadyExists if the name exists."""
        metadata = dict(body.get("metadata") or {})
        if metadata.get("resourceVersion"):
            raise RefusedAnswer(
                500, "InternalError", "resourceVersion should not be set on objects to be created"
            )
        prefix = metadata.get("generateName")
        if not metadata.get("name") and prefix:
            metadata["name"] = prefix + "".join(self._rng.choices(_SUFFIX, k=5))
        resource, name = target.kind.resource, metadata.get("name")
        if not name:
            cause = Cause("FieldValueRequired", "Required value: name or generateName is required")
            raise invalid(resource, "", cause)
        if resource.namespaced:
            if metadata.setdefault("namespace", target.key.namespace) != target.key.namespace:
                raise bad_request("the namespace of the provided object does not match the request")
            self._expect_namespace(target, name)
        key = ObjectKey(target.key.namespace, name)
        if self._storage.get(resource, key) is not None:
            raise already_exists(resource, name)
        created = self._prepare_create(target, {**body, "metadata": metadata})
        created["metadata"]["managedFields"] = after_update(
            None, created, target.kind, self._who(target, "Update"), self._stamp()
        )
        return created if target.dry_run else self._storage.put(resource, key, created)

    def update(self, target: WriteTarget, body: Object) -> Object:
        """Replace an object, or its status; 409 for a stale version."""
        old = self._present(target)
        metadata = body.get("metadata") or {}
        version = metadata.get("resourceVersion")
        if version and version != old["metadata"]["resourceVersion"]:
            raise conflict(str(target.kind.resource), target.name, MODIFIED)
        uid = metadata.get("uid")
        if uid and uid != old["metadata"]["uid"]:
            raise _wrong_uid(target, uid, old)
        return self._commit(target, old, self._prepare_update(target, old, body))

    def patch(self, target: WriteTarget, body: Any, content_type: str) -> tuple[Object, bool]:
        """Apply any kind of patch; True if an apply has created the object."""
        if content_type.startswith(APPLY_PATCH):
            return self._apply(target, body)
        old = self._present(target)
        copy = orjson.loads(orjson.dumps(old))
        if content_type.startswith(JSON_PATCH):
            try:
                new = apply_json_patch(copy, body)
            except Impossible as error:
                raise _bad_patch(target, str(error)) from error
        else:
            new = apply_merge_patch(copy, body)
        return self.update(target, new), False

    def delete(self, target: WriteTarget, options: Object) -> Object | None:
        """Delete an object, or mark it as terminating while it has finalizers (then returns it)."""
        resource = target.kind.resource
        old = self._present(target)
        _expect(target, old, options.get("preconditions") or {})
        finalizers = list(old["metadata"].get("finalizers") or [])
        policy = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}
        extra = policy.get(options.get("propagationPolicy") or "")
        if extra and extra not in finalizers:
            finalizers.append(extra)
        pending = finalizers or (resource == NAMESPACE)
        if not pending:
            if not target.dry_run:
                self._storage.drop(resource, target.key, old)
            return None
        metadata = {**old["metadata"], **({"finalizers": finalizers} if finalizers else {})}
        if "deletionTimestamp" not in metadata:
            metadata |= {"deletionTimestamp": self._stamp(), "deletionGracePeriodSeconds": 0}
            if metadata.get("generation"):
                metadata["generation"] += 1
        new = {**old, "metadata": metadata}
        if resource == NAMESPACE:
            new["status"] = {"phase": "Terminating"}
        return old if target.dry_run or new == old else self._storage.put(resource, target.key, new)

    def _apply(self, target: WriteTarget, body: Any) -> tuple[Object, bool]:
        if not isinstance(body, dict):
            raise bad_request("error decoding YAML: not an object")
        query = target.query or {}
        if not query.get("fieldManager"):
            cause = Cause("FieldValueRequired", "Required value: is required for apply patch")
            raise invalid(target.kind.resource, target.name, cause)
        metadata = body.get("metadata") or {}
        if metadata.get("managedFields"):
            raise bad_request("metadata.managedFields must be nil")
        old = self._storage.get(target.kind.resource, target.key)
        self._expect_applicable(target, old, metadata)
        body = {**body, "metadata": {**metadata, "name": target.name}}
        request = Application(
            target.kind,
            self._who(target, "Apply"),
            body,
            query.get("force") == "true",
            self._stamp(),
        )
        if old is not None:
            return self._commit(target, old, apply_request(old, request)), False
        self._expect_namespace(target, target.name)
        first = apply_request(None, request)
        first["metadata"] = {**first["metadata"], "name": target.name}
        if target.kind.resource.namespaced:
            first["metadata"]["namespace"] = target.key.namespace
        created = self._prepare_create(target, first)
        if target.dry_run:
            return created, True
        return self._storage.put(target.kind.resource, target.key, created), True

    def _expect_applicable(self, target: WriteTarget, old: Object | None, metadata: Object) -> None:
        resource, uid = target.kind.resource, metadata.get("uid")
        if old is None and target.subresource:
            raise not_found(resource, target.name)
        if uid and old is None:
            text = f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
            raise conflict(resource.kind, target.name, text)
        if old is None:
            return
        if uid and uid != old["metadata"]["uid"]:
            # The server reports an immutable field, not a failed precondition.
            text = f'Invalid value: "{uid}": field is immutable'
            raise invalid(resource, target.name, Cause("FieldValueInvalid", text, "metadata.uid"))
        version = metadata.get("resourceVersion")
        if version and version != old["metadata"]["resourceVersion"]:
            raise conflict(str(resource), target.name, MODIFIED)

    def _prepare_create(self, target: WriteTarget, obj: Object) -> Object:
        """Add the metadata of the server to a new object."""
        kind = target.kind
        metadata = {
            **{k: v for k, v in obj["metadata"].items() if k not in _KEPT},
            "uid": new_uid(self._rng),
            "creationTimestamp": self._stamp(),
        }
        if kind.generation:
            metadata["generation"] = 1
        created = {
            **obj,
            "apiVersion": kind.resource.api_version,
            "kind": kind.resource.kind,
            "metadata": metadata,
        }
        if kind.status:
            created.pop("status", None)
        if kind.resource == NAMESPACE:
            created |= {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        return created

    def _prepare_update(self, target: WriteTarget, old: Object, body: Object) -> Object:
        """The result of a plain write, with its managedFields."""
        if target.subresource:
            new = {**old, target.subresource: body.get(target.subresource)}
            stated = (body.get("metadata") or {}).get("managedFields")
            new["metadata"] = {**old["metadata"]} | (
                {} if stated is None else {"managedFields": stated}
            )
        else:
            stored_status = {"status": old.get("status")} if target.kind.status else {}
            new = {**body, **stored_status, "apiVersion": old["apiVersion"], "kind": old["kind"]}
            new["metadata"] = dict(body.get("metadata") or {})
        new = {name: value for name, value in new.items() if value is not None}
        entries = after_update(old, new, target.kind, self._who(target, "Update"), self._stamp())
        new["metadata"]["managedFields"] = entries
        return new

    def _commit(self, target: WriteTarget, old: Object, new: Object) -> Object:
        """Store a changed object; without a change nothing is written."""
        before = old["metadata"]
        metadata = {name: value for name, value in new["metadata"].items() if name not in _KEPT}
        metadata |= {name: before[name] for name in _KEPT if name in before}
        metadata |= {"name": before["name"], "resourceVersion": before["resourceVersion"]}
        if "namespace" in before:
            metadata["namespace"] = before["namespace"]
        metadata.pop("generation", None)
        if "generation" in before:
            metadata["generation"] = before["generation"] + (_spec(old) != _spec(new))
        new = {**new, "metadata": metadata}
        if new == old:
            return old
        self._expect_no_new_finalizers(target, old, new)
        if target.dry_run:
            return new
        resource = target.kind.resource
        ended = metadata.get("deletionTimestamp") and not metadata.get("finalizers")
        if ended and resource != NAMESPACE:
            return self._storage.drop(resource, target.key, new)
        return self._storage.put(resource, target.key, new)

    def _expect_no_new_finalizers(self, target: WriteTarget, old: Object, new: Object) -> None:
        had, has = (set(obj["metadata"].get("finalizers") or ()) for obj in (old, new))
        if old["metadata"].get("deletionTimestamp") and has - had:
            text = (
                "Forbidden: no new finalizers can be added if the object is being deleted, "
                f"found new finalizers {orjson.dumps(sorted(has - had)).decode()}"
            )
            cause = Cause("FieldValueForbidden", text, "metadata.finalizers")
            raise invalid(target.kind.resource, target.name, cause)

    def _expect_namespace(self, target: WriteTarget, name: str) -> None:
        """Reject a create in a terminating namespace and, if strict, in one that does not exist."""
        if not target.kind.resource.namespaced:
            return
        namespace = target.key.namespace
        live = self._storage.get(NAMESPACE, ObjectKey("", namespace))
        if live is None and self.strict_namespaces:
            raise not_found(NAMESPACE, namespace)
        if live is not None and live["metadata"].get("deletionTimestamp"):
            resource = target.kind.resource
            why = (
                f"unable to create new content in namespace {namespace} "
                "because it is being terminated"
            )
            raise RefusedAnswer(
                403,
                "Forbidden",
                f'{resource} "{name}" is forbidden: {why}',
                about=about(resource, name),
                causes=(
                    Cause(
                        "NamespaceTerminating",
                        f"namespace {namespace} is being terminated",
                        "metadata.namespace",
                    ),
                ),
            )

    def _present(self, target: WriteTarget) -> Object:
        live = self._storage.get(target.kind.resource, target.key)
        if live is None:
            raise not_found(target.kind.resource, target.name)
        return live

    def _who(self, target: WriteTarget, operation: str) -> Who:
        manager = (target.query or {}).get("fieldManager") or target.manager
        return Who(manager, operation, target.kind.resource.api_version, target.subresource)

    def _stamp(self) -> str:
        # Each write needs it, and strftime takes more than twice as long.
        return self._now().replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def _spec(obj: Object) -> Object:
    return {name: value for name, value in obj.items() if name not in ("metadata", "status")}


def _expect(target: WriteTarget, old: Object, preconditions: Mapping[str, str]) -> None:
    metadata = old["metadata"]
    uid, version = preconditions.get("uid"), preconditions.get("resourceVersion")
    if uid and uid != metadata["uid"]:
        raise _wrong_uid(target, uid, old)
    if version and version != metadata["resourceVersion"]:
        text = (
            f"the ResourceVersion in the precondition ({version}) does not match the "
            f"ResourceVersion in record ({metadata['resourceVersion']}). "
            "The object might have been modified"
        )
        raise conflict(target.kind.resource.kind, target.name, text)


def _wrong_uid(target: WriteTarget, uid: str, old: Object) -> RefusedAnswer:
    text = (
        f"the UID in the precondition ({uid}) does not match the UID in record "
        f"({old['metadata']['uid']}). The object might have been deleted and then recreated"
    )
    return conflict(target.kind.resource.kind, target.name, text)


def _bad_patch(target: WriteTarget, why: str) -> RefusedAnswer:
    text = f"the server rejected our request due to an error in our request: {why}"
    return RefusedAnswer(422, "Invalid", text, about=about(target.kind.resource, target.name))
