"""The volume provisioner of the rig: creates a folder and a `local` volume for each claim.

Runs as a component of its own: ``python -m e2e.rig.provisioner KUBECONFIG FOLDER``. It serves
all StorageClasses with provisioner storage.PROVISIONER, so a scenario may add its own classes
(Retain, no expansion, WaitForFirstConsumer). The kubelet sets the owner and the group of the folder
by fsGroup, as for a new file system. An expansion is granted immediately; sizes are not enforced.
"""

import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from e2e.rig.kube import ApiError, Kube, Object
from e2e.rig.storage import (
    CLASSES,
    PROVISIONED_BY,
    PROVISIONER,
    requested_expansion,
    volume,
    wants_volume,
)

_CLAIMS = "/api/v1/persistentvolumeclaims"
_VOLUMES = "/api/v1/persistentvolumes"


class Provisioner:
    """Handles watch events of claims and volumes; stateless."""

    def __init__(self, kube: Kube, folder: Path) -> None:
        self._kube = kube
        self._folder = folder

    def on_claim(self, claim: Object) -> None:
        """Create the volume of a pending claim, or expand that of a bound one."""
        spec = claim["spec"]
        if "deletionTimestamp" in claim["metadata"] or not spec.get("storageClassName"):
            return
        if not spec.get("volumeName"):
            kind = self._class(spec["storageClassName"])
            if kind is not None and wants_volume(claim, kind):
                self._provision(claim, kind)
        elif (size := requested_expansion(claim)) is not None:
            self._expand(claim, size)

    def on_volume(self, pv: Object) -> None:
        """Delete a released volume, its folder first, if its reclaim policy is Delete."""
        if pv["metadata"].get("annotations", {}).get(PROVISIONED_BY) != PROVISIONER:
            return
        released = pv.get("status", {}).get("phase") == "Released"
        if released and pv["spec"]["persistentVolumeReclaimPolicy"] == "Delete":
            shutil.rmtree(pv["spec"]["local"]["path"], ignore_errors=True)
            meta = pv["metadata"]
            body = {"preconditions": {"uid": meta["uid"]}}
            _unless(404, lambda: self._kube.delete(f"{_VOLUMES}/{meta['name']}", body))

    def _class(self, name: str) -> Object | None:
        try:
            return self._kube.get(f"{CLASSES}/{name}")
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    def _provision(self, claim: Object, kind: Object) -> None:
        body = volume(claim, kind, self._folder)
        Path(body["spec"]["local"]["path"]).mkdir(mode=0o755, exist_ok=True)
        _unless(409, lambda: self._kube.create(_VOLUMES, body))

    def _expand(self, claim: Object, size: str) -> None:
        meta = claim["metadata"]
        name = claim["spec"]["volumeName"]
        live = self._kube.get(f"{_VOLUMES}/{name}")
        if live["metadata"].get("annotations", {}).get(PROVISIONED_BY) != PROVISIONER:
            return
        capacity = {"capacity": {"storage": size}}
        self._kube.patch(f"{_VOLUMES}/{name}", {"spec": capacity})
        path = f"/api/v1/namespaces/{meta['namespace']}/persistentvolumeclaims/{meta['name']}"
        _unless(404, lambda: self._kube.patch(f"{path}/status", {"status": capacity}))


def _unless(code: int, call: Callable[[], object]) -> None:
    try:
        call()
    except ApiError as error:
        if error.code != code:
            raise


def follow(kube: Kube, path: str, act: Callable[[Object], None]) -> None:
    """List, handle each object, then watch; list again when the watch ends. Never returns.

    A new list retries what failed before.
    """
    while True:
        try:
            listed = kube.get(path)
            for item in listed["items"]:
                attempt(act, item)
            for event in kube.watch(path, listed["metadata"]["resourceVersion"]):
                if event["type"] == "ERROR":
                    break
                if event["type"] in {"ADDED", "MODIFIED"}:
                    attempt(act, event["object"])
        except (ApiError, OSError, ValueError) as error:
            print(f"{path}: {error!r}", file=sys.stderr, flush=True)
            time.sleep(0.2)


def attempt(act: Callable[[Object], None], item: Object) -> None:
    """Handle one object. A refusal (4xx) is printed and not retried.

    Raises retryable errors: ApiError from 500 on, OSError.
    """
    try:
        act(item)
    except ApiError as error:
        if error.code >= 500:
            raise
        print(f"{item['metadata']['name']}: {error}", file=sys.stderr, flush=True)


def main(kubeconfig: str, folder: str) -> None:
    """Follow claims and volumes until killed."""
    kube = Kube.from_kubeconfig(Path(kubeconfig), "rig-provisioner")
    provisioner = Provisioner(kube, Path(folder))
    volumes = threading.Thread(
        target=follow, args=(kube, _VOLUMES, provisioner.on_volume), daemon=True
    )
    volumes.start()
    follow(kube, _CLAIMS, provisioner.on_claim)


if __name__ == "__main__":
    main(*sys.argv[1:])
