"""The steps of the demo of backup and restore."""

import copy
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from contracts.api.group import BACKUP_KIND, RESTORE_KIND
from contracts.naming import labels, names
from e2e.demo.api import Api
from e2e.demo.bao import DeniedError, OpenBao
from e2e.demo.data_check import SECRET_PATH, DataCheck
from e2e.demo.environment import RigEnvironment
from e2e.demo.errors import DemoError
from e2e.demo.frame import operator_in, print_commands, print_durations
from e2e.demo.install import apply
from e2e.demo.journal import Journal, cluster_views
from e2e.demo.objects import Object, name_of
from e2e.demo.sample import Sample, delete, prepare_namespace, remove, with_mark
from e2e.demo.screen import Screen, duration
from e2e.demo.waiting import until_condition
from e2e.demo_backup.runs import Runs
from e2e.harness.stores import CREDENTIALS, ServerHost, Store, s3_store
from e2e.rig import Rig

# Once a year: the demo requests its snapshots by OpenBaoBackups.
YEARLY = "0 3 1 1 *"
AVAILABLE_SECONDS = 300.0
VOLUMES_SECONDS = 60.0
_POLL_SECONDS = 0.25


def run(rig: Rig, screen: Screen, folder: Path) -> None:
    """Run the demo; the store keeps its files in the folder. Raises as e2e.demo does."""
    environment = RigEnvironment(rig)
    title = "a demo of backup and restore"
    with (
        operator_in(environment, screen, title) as (api, sample),
        s3_store(ServerHost.of_rig(rig), folder) as store,
    ):
        Steps(environment, screen, api, sample, store).run()


@dataclass(slots=True)
class Steps:
    """The steps that need the API and the store."""

    environment: RigEnvironment
    screen: Screen
    api: Api
    sample: Sample
    store: Store

    def run(self) -> None:
        """Run the steps and print their durations. Raises DemoError, ApiError, OSError."""
        sample, screen, kubectl = self.sample, self.screen, self.environment.kubectl
        with screen.step("Clean up, and start a store"):
            prepare_namespace(kubectl, self.api, sample.namespace)
            remove(kubectl, self.api, sample.home, sample.name, screen)
            apply(kubectl, [_login(sample.home, self.store)])
            screen.say(f"{self.store.endpoint}, TLS with its own CA")
        runs = Runs(kubectl, self.api, screen, sample.home)
        suffix = datetime.now(UTC).strftime("%H%M%S")
        with Journal(self.api, cluster_views(sample.home)) as journal:
            with screen.step(f"{sample.replicas} servers with backups to the store"):
                self._bring_up(journal)
            with screen.step("An application writes a secret"):
                value = self._check(journal).write_secret()
            with screen.step("A snapshot"):
                self._back_up(runs, f"demo-{suffix}")
            with screen.step("Copy the unseal key"):
                key = self._key_secret()
            with screen.step("Disaster: delete cluster, volumes and key"):
                self._destroy()
            with screen.step("New servers with the old key and without data"):
                self._rebuild(journal, key)
            with screen.step("Restore the snapshot"):
                spec = {"cluster": sample.name, "source": {"backup": f"demo-{suffix}"}}
                status = runs.run(RESTORE_KIND, f"demo-{suffix}", spec)
                screen.say(str(status.get("message") or ""))
            with screen.step("The application reads the secret"):
                check = self._check(journal)
                check.log_in()
                check.read_back(value)
                screen.say(f"{SECRET_PATH} has the value from before the disaster")
            with screen.step("Recovery"):
                until_condition(journal, screen, sample.name, "Available", AVAILABLE_SECONDS)
                self._check(journal).await_recovery()
        self._results()

    def _bring_up(self, journal: Journal) -> None:
        cluster = copy.deepcopy(self.sample.cluster)
        cluster["spec"]["backup"] = {"schedule": YEARLY, "target": self.store.target()}
        apply(self.environment.kubectl, [self.sample.account, with_mark(cluster)])
        until_condition(journal, self.screen, self.sample.name, "Available", AVAILABLE_SECONDS)
        self.sample = Sample(self.sample.namespace, self.sample.account, cluster)

    def _check(self, journal: Journal) -> DataCheck:
        access = self.environment.access(self.api)
        bao = OpenBao.of_cluster(access, self.api, self.sample.home, self.sample.name)
        return DataCheck(self.sample, self.environment.kubectl, journal, self.screen, bao)

    def _back_up(self, runs: Runs, name: str) -> None:
        snapshot = runs.run(BACKUP_KIND, name, {"cluster": self.sample.name})["snapshot"]
        self.screen.say(f"{snapshot['size']} bytes at {snapshot['key']}")
        self.screen.say(f"{snapshot['digest']}, raft index {snapshot['index']}")
        self.screen.say(f"in the store: {', '.join(self.store.keys())}")

    def _key_secret(self) -> Object:
        """Return a Secret that provides the unseal key to a cluster of the same name."""
        home, name = self.sample.home, names.unseal_key_secret(self.sample.name)
        live = self.api.get(f"/api/v1/namespaces/{home}/secrets/{name}")
        # Without this annotation the new cluster would not adopt the key.
        annotations = {labels.ADOPT: self.sample.name}
        metadata = {"name": name, "namespace": home, "annotations": annotations}
        self.screen.say("without the key nobody can decrypt the snapshot, not even the operator")
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": live["data"]}

    def _destroy(self) -> None:
        sample, screen = self.sample, self.screen
        live = self.api.get(sample.path)
        delete(self.environment.kubectl, self.api, live, "DeleteAll", screen)
        selector = f"labelSelector={labels.CLUSTER}%3D{sample.name}"
        claims = f"/api/v1/namespaces/{sample.home}/persistentvolumeclaims?{selector}"
        # The operator removes the finalizer of the cluster once each PVC is terminating; Kubernetes
        # keeps the PVC until no pod uses it.
        until = time.monotonic() + VOLUMES_SECONDS
        while left := [name_of(claim) for claim in self.api.items(claims)]:
            if time.monotonic() > until:
                raise DemoError(f"volumes of the cluster were not deleted: {', '.join(left)}")
            screen.waiting(f"the volumes {', '.join(left)} are being deleted")
            time.sleep(_POLL_SECONDS)
        screen.waiting("")
        screen.say("all servers and volumes are deleted")

    def _rebuild(self, journal: Journal, key: Object) -> None:
        apply(self.environment.kubectl, [key])
        self._bring_up(journal)
        check = self._check(journal)
        check.log_in()
        try:
            check.bao.read(SECRET_PATH)
        except DeniedError:
            self.screen.say(f"the application cannot read {SECRET_PATH}: the cluster is empty")
        else:
            raise DemoError(f"{SECRET_PATH} exists before the restore")

    def _results(self) -> None:
        screen = self.screen
        print_durations(screen)
        home = self.sample.home
        commands = (
            *self.environment.environment_lines(),
            f"kubectl -n {home} get openbaobackups,openbaorestores",
            f"kubectl -n {home} get openbaocluster {self.sample.name} -o yaml   # status.backup",
        )
        print_commands(screen, "Next steps (the store stopped with the demo)", commands)
        stop_lines = self.environment.stop_lines(home, self.sample.name)
        print_commands(screen, "Clean up afterwards", stop_lines)
        screen.heading(f"Succeeded: data restored, everything in {duration(screen.elapsed)}.")


def _login(namespace: str, store: Store) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": CREDENTIALS, "namespace": namespace},
        "stringData": store.secret(),
    }
