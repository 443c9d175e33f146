"""Reload of a running server without a restart: which pods need it, and whether it worked. Pure.

The operator adds an ephemeral container of its own image to the pod. The container waits for the
mounted files, sends SIGHUP to the server, and exits (`baoctl.reload`;
docs/adr/20261121-reload.md). The pod is the only state: an annotation has the digest of the files
at its start, and the ephemeral containers are the reloads since. Called by managers.workload.plan.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from contracts.builders.security_context import container_security
from contracts.naming import mount_paths, names
from contracts.pause import counted_from
from contracts.records.container_history import Reload
from contracts.records.effects import ReloadPod
from contracts.records.observed import Observed, PodFacts
from managers.workload.objects.pod import CONTAINER
from runtime.types import Object

RELOADING = "Reloading"
# Longer than the kubelet takes to update a mounted file, and than a node takes to pull an image.
RELOAD_PATIENCE = timedelta(minutes=5)
TRIES = 2
# An ephemeral container can never be removed from its pod.
CONTAINERS_MAX = 24
REQUESTED_FLAG = "--asked"
_NAME = re.compile(
    rf"{names.RELOAD_PREFIX}(?P<number>[1-9][0-9]{{0,5}})"
    rf"-(?P<digest>[0-9a-f]{{{names.RELOAD_DIGEST}}})"
)
CONFIG_FILE = f"{mount_paths.CONFIG}/config.hcl"
CERTIFICATE_FILE = f"{mount_paths.TLS}/tls.crt"
AUTHORITY_FILE = f"{mount_paths.TLS}/ca.crt"


@dataclass(frozen=True, slots=True)
class ReloadTarget:
    """The files that a running server should have read: their digest, and its certificate."""

    digest: str
    certificate: str = ""


@dataclass(frozen=True, slots=True)
class Files:
    """Desired content of the files of a pod that a running server can reload."""

    config: str
    """config.hcl, whole."""
    certificate: str = ""
    """SHA-256 fingerprint of the server certificate; "" when no file holds it."""
    authority: str = ""
    """PEM of the CA with it; "" when there is none."""
    reload_text: str = ""
    """The part of `config` whose changes are reloaded; "": all of it."""

    @property
    def digest(self) -> str:
        """Digest of all files."""
        return _digest(self)

    @property
    def target(self) -> ReloadTarget:
        """The target that a pod is compared with."""
        return ReloadTarget(self.digest, self.certificate)

    def arguments(self) -> list[str]:
        """The files and their hashes, as `baoctl.reload` takes them."""
        arguments = ["--file", f"{CONFIG_FILE}={_sha256(self.config)}"]
        if self.certificate:
            arguments += ["--certificate", f"{CERTIFICATE_FILE}={self.certificate}"]
        if self.authority:
            arguments += ["--file", f"{AUTHORITY_FILE}={_sha256(self.authority)}"]
        return arguments


def _digest(files: Files) -> str:
    configuration = files.reload_text or files.config
    whole = (_sha256(configuration), files.certificate, _sha256(files.authority))
    return _sha256("\n".join(whole))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def reloads(pod: Object) -> tuple[Reload, ...]:
    """Read the attempts in a pod, in order; other ephemeral containers are ignored.

    A user who may debug the pod may add a container with such a name: the only effect is another
    reload, or the replacement of the pod.
    """
    statuses = (pod.get("status") or {}).get("ephemeralContainerStatuses") or ()
    codes = {
        status["name"]: ((status.get("state") or {}).get("terminated") or {}).get("exitCode")
        for status in statuses
    }
    attempts = []
    for entry in (pod.get("spec") or {}).get("ephemeralContainers") or ():
        match = _NAME.fullmatch(entry["name"])
        if match is not None:
            requested_at = _requested_at(entry.get("args") or ())
            attempts.append(
                Reload(int(match["number"]), match["digest"], codes.get(match[0]), requested_at)
            )
    return tuple(attempts)


def _requested_at(arguments: Sequence[str]) -> datetime | None:
    for flag, value in pairwise(arguments):
        if flag == REQUESTED_FLAG:
            try:
                return datetime.fromtimestamp(int(value), UTC)
            except (ValueError, OverflowError, OSError):
                return None
    return None


def has_read(pod: PodFacts, digest: str) -> bool:
    """Return whether the server of a pod has read the files of that digest.

    The last success counts: an earlier version may have been replaced by a later reload.
    """
    successful = [attempt for attempt in pod.reloads if attempt.exit_code == 0]
    if not successful:
        return pod.reload_hash == digest
    return digest.startswith(successful[-1].digest)


def is_current(pod: PodFacts, target: ReloadTarget) -> bool:
    """Return whether a server needs no reload: it was reloaded, and serves the new certificate.

    A server whose certificate has not been probed counts as current.
    """
    shows_another = target.certificate and pod.serves not in (None, "", target.certificate)
    return has_read(pod, target.digest) and not shows_another


@dataclass(frozen=True, slots=True)
class Split:
    """The pods that have not read the newest files, by the required action."""

    due: tuple[PodFacts, ...] = ()
    """To be reloaded now."""
    waiting: tuple[PodFacts, ...] = ()
    """Already signaled, or not ready yet."""
    to_replace: tuple[PodFacts, ...] = ()
    """To be replaced, because a reload has failed or is not possible."""


def split(observed: Observed, pods: Iterable[PodFacts], target: ReloadTarget, image: str) -> Split:
    """Sort the pods without the newest files; `image` is the operator's, "" when it is unknown."""
    due, waiting, to_replace = [], [], []
    for pod in pods:
        if is_current(pod, target):
            continue
        if not image or _needs_replacement(observed, pod, target.digest):
            to_replace.append(pod)
        elif pod.ready and not _is_signaled(pod, target.digest):
            due.append(pod)
        else:
            waiting.append(pod)
    return Split(tuple(due), tuple(waiting), tuple(to_replace))


def _of(pod: PodFacts, digest: str) -> list[int | None]:
    """Return the exit codes of the newest attempts for this digest."""
    codes = []
    for attempt in reversed(pod.reloads):
        if not digest.startswith(attempt.digest):
            break
        codes.append(attempt.exit_code)
    return codes


def _is_signaled(pod: PodFacts, digest: str) -> bool:
    """Return whether a reload runs or succeeded, so that only the certificate must be checked."""
    return any(code in (None, 0) for code in _of(pod, digest))


def _needs_replacement(observed: Observed, pod: PodFacts, digest: str) -> bool:
    requested_at = pod.reloads[-1].requested_at if _is_signaled(pod, digest) else None
    since = None if requested_at is None else counted_from(requested_at, observed.resumed_at)
    late = since is not None and observed.now - since >= RELOAD_PATIENCE
    refused = observed.last_attempt(ReloadPod.name, pod.uid)
    failed = sum(code not in (None, 0) for code in _of(pod, digest))
    return (
        late
        or (refused is not None and bool(refused.refusal))
        or failed >= TRIES
        or len(pod.reloads) >= CONTAINERS_MAX
    )


def container(
    pod: PodFacts, files: Files, image: str, mounts: Iterable[Mapping[str, Any]], now: datetime
) -> dict[str, Any]:
    """Build the ephemeral container; `mounts` are those of the server's own container.

    Its arguments have the time of the request, which nothing else stores.
    """
    number = max((attempt.number for attempt in pod.reloads), default=0) + 1
    folders = (mount_paths.CONFIG, mount_paths.TLS)
    return {
        "name": names.reload_container(number, files.digest),
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-m", "baoctl.reload"],
        "args": [REQUESTED_FLAG, str(int(now.timestamp())), *files.arguments()],
        # The process namespace of the server, so that it can be signaled.
        "targetContainerName": CONTAINER,
        "securityContext": container_security(),
        "volumeMounts": [
            {"name": mount["name"], "mountPath": mount["mountPath"], "readOnly": True}
            for mount in mounts
            if mount["mountPath"] in folders
        ],
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
