"""Applies OpenBaoBackups and OpenBaoRestores, and waits for them."""

import time
from dataclasses import dataclass

from contracts.api.group import API_VERSION, BACKUP_KIND, BACKUPS, RESTORE_KIND, RESTORES
from e2e.demo.api import Api
from e2e.demo.errors import DemoError
from e2e.demo.install import apply
from e2e.demo.kubectl import Kubectl
from e2e.demo.objects import Object, status_of
from e2e.demo.screen import Screen

SECONDS = 180.0
_BAD = frozenset({"Failed", "Unknown"})
_POLL_SECONDS = 0.1
_PLURALS = {BACKUP_KIND: BACKUPS.plural, RESTORE_KIND: RESTORES.plural}


@dataclass(frozen=True, slots=True)
class Runs:
    """Creates backups and restores in one namespace."""

    kubectl: Kubectl
    api: Api
    screen: Screen
    namespace: str

    def run(self, kind: str, name: str, spec: Object) -> Object:
        """Apply the object and wait until it is Completed; return its status. Raises DemoError."""
        metadata = {"name": name, "namespace": self.namespace}
        manifest = {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}
        apply(self.kubectl, [manifest])
        self.screen.say(f"applied {kind} {name}")
        path = f"/apis/{API_VERSION}/namespaces/{self.namespace}/{_PLURALS[kind]}/{name}"
        end = time.monotonic() + SECONDS
        while True:
            status = status_of(self.api.get(path))
            phase = str(status.get("phase") or "new")
            words = f"{kind} {name} is {phase}: {status.get('message') or 'no message yet'}"
            if phase == "Completed":
                self.screen.waiting("")
                return status
            if phase in _BAD or time.monotonic() > end:
                raise DemoError(words)
            self.screen.waiting(words)
            time.sleep(_POLL_SECONDS)
