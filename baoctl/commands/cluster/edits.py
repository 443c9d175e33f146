"""The edits that verbs make to a cluster, as JSON patches of the live object.

Pure. A user can also make each edit with kubectl. The patch of an edit that changes nothing is
empty. Called by baoctl.commands.cluster.patch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from baoctl.commands.cluster.observed import fenced_pods, part, text
from baoctl.commands.preconditions import version_precondition
from baoctl.exit_codes import ExitCode, VerbError
from contracts.upgrade_requests import UPGRADE_REQUESTS
from runtime.types import Object, is_terminating, key_of

Operations = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Edit:
    """A field of the spec, its new value, and the consequence."""

    path: tuple[str, ...]
    """Field below spec."""
    value: Any
    effect: str
    """The consequence, in a message for the user."""


def _set_to(path: str, value: Any, effect: str) -> Callable[[Object, str], Edit]:
    return lambda live, argument: Edit(tuple(path.split(".")), value, effect)


def _fence(live: Object, pod: str) -> Edit:
    effect = f"{pod} stops and does not start again; its volume stays"
    return Edit(
        ("fencedPods",), [*(name for name in fenced_pods(live) if name != pod), pod], effect
    )


def _unfence(live: Object, pod: str) -> Edit:
    fenced = [name for name in fenced_pods(live) if name != pod]
    return Edit(("fencedPods",), fenced, f"{pod} starts again")


def _restart(live: Object, now: str) -> Edit:
    return Edit(("runtime", "restartAt"), now, "the servers restart one at a time, the leader last")


def _request(kind: str, effect: str) -> Callable[[Object, str], Edit]:
    return lambda live, now: Edit(("upgrade", "requests", kind), now, effect)


def _start_upgrade(live: Object, version: str) -> Edit:
    image = text(live, "spec", "image")
    if image:
        key = key_of(live)
        message = (
            f"{key.namespace}/{key.name} has spec.image {image[:80]}, which has another version: "
            "set spec.image and spec.version together, in its manifest or with kubectl edit"
        )
        raise VerbError(message, ExitCode.REFUSED)
    effect = (
        f"the operator checks the upgrade to {version} and starts it; kubectl bao status shows its "
        "progress"
    )
    return Edit(("version",), version, effect)


def _rotate_ca(live: Object, now: str) -> Edit:
    _expect(live, ("tls", "mode"), "OperatorManaged", "rotate the CA in the system that issues it")
    effect = (
        "a second CA is created, and replaces the first after two overlaps (spec.tls.caOverlap)"
    )
    return Edit(("tls", "rotateCAAt"), now, effect)


def _rotate_unseal_key(live: Object, now: str) -> Edit:
    _expect(live, ("unseal", "type"), "static", "rotate the key in its key service")
    if part(live, "spec", "unseal", "credentialsSecretRef"):
        key = key_of(live)
        message = (
            f"{key.namespace}/{key.name} reads its unseal key from your Secret: add a new key to "
            "it, and set spec.unseal.static.currentKey and currentKeyID"
        )
        raise VerbError(message, ExitCode.REFUSED)
    effect = "the operator generates a new key, and restarts the servers three times, one at a time"
    return Edit(("unseal", "static", "currentKeyID"), _KEY_ID.sub("", now), effect)


_KEY_ID: Final = re.compile(r"[^0-9TZ]")
"""Characters to remove from a timestamp: a key ID may not contain colons."""


def _expect(live: Object, path: tuple[str, str], required: str, step: str) -> None:
    """Raise VerbError unless a field of the spec has the required value, or is not set."""
    value = part(live, "spec", path[0]).get(path[1]) or required
    if value != required:
        key = key_of(live)
        message = f"{key.namespace}/{key.name} has spec.{'.'.join(path)} {value}: {step}"
        raise VerbError(message, ExitCode.REFUSED)


EDITS: Final[Mapping[str, Callable[[Object, str], Edit]]] = {
    "restart": _restart,
    "pause": _set_to("paused", True, "the operator makes no changes until the cluster is resumed"),
    "resume": _set_to("paused", False, "the operator resumes"),
    "fence": _fence,
    "unfence": _unfence,
    "hibernate": _set_to("hibernate", True, "all servers stop; volumes and keys stay"),
    "wake": _set_to("hibernate", False, "the servers start again with their data"),
    "ca": _rotate_ca,
    "unseal-key": _rotate_unseal_key,
    "start": _start_upgrade,
    "retry": _request("retry", "the upgrade retries the failed step"),
    "promote": _request("promote", "the operator promotes the green servers"),
    "rollback": _request("rollback", "the upgrade rolls back"),
    "cleanup": _request("cleanup", "the blue servers are deleted; this cannot be undone"),
}
"""The edit of each verb, from the live cluster and the pod, the version or the current time."""


def edit_of(verb: str, live: Object, argument: str) -> Edit:
    """Return the edit of a verb. Raises VerbError if the verb does not apply to the cluster."""
    key = key_of(live)
    if is_terminating(live):
        message = f"{key.namespace}/{key.name} is being deleted; choose another cluster"
        raise VerbError(message, ExitCode.REFUSED)
    upgrades = part(live, "status", "upgrade") or part(live, "status", "blueGreen")
    if verb in UPGRADE_REQUESTS and not upgrades:
        message = f"{key.namespace}/{key.name} has no upgrade for this verb; see baoctl status"
        raise VerbError(message, ExitCode.REFUSED)
    return EDITS[verb](live, argument)


def operations(live: Object, edit: Edit) -> Operations:
    """Return the JSON patch for this version of the cluster; empty if the field has the value."""
    spec: Any = part(live, "spec")
    value, path = edit.value, ["spec"]
    *above, last = edit.path
    for position, name in enumerate(above):
        path.append(name)
        inner = spec.get(name) if isinstance(spec, Mapping) else None
        if not isinstance(inner, Mapping):
            for missing in reversed([*above[position + 1 :], last]):
                value = {missing: value}
            return _set_field(live, path, value)
        spec = inner
    if spec.get(last, _DEFAULTS.get(last)) == value:
        return ()
    return _set_field(live, [*path, last], value)


_DEFAULTS: Final[Mapping[str, Any]] = {"paused": False, "hibernate": False, "fencedPods": []}


def _set_field(live: Object, path: Sequence[str], value: Any) -> Operations:
    return (
        *version_precondition(live),
        {"op": "add", "path": "/" + "/".join(path), "value": value},
    )


def as_kubectl(live: Object, edit: Edit) -> str:
    """Return the kubectl command that makes the same edit."""
    value = edit.value
    for name in reversed(("spec", *edit.path)):
        value = {name: value}
    key = key_of(live)
    patch = json.dumps(value, separators=(",", ":"))
    return f"kubectl -n {key.namespace} patch openbaocluster {key.name} --type merge -p '{patch}'"
