"""A real Prometheus with the alerts of the operator, which scrapes pods with its annotations.

The package of Debian has no Kubernetes client. So the targets come from a file: `follow` writes
what the job `kubernetes-pods` of the examples of Prometheus finds by the same annotations.
"""

import socket
import subprocess
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import orjson
import yaml

from e2e.harness.waiting import until
from e2e.rig import Rig
from e2e.rig.packages import unpack
from e2e.rig.paths import REPOSITORY
from e2e.rig.progress import to_stderr
from runtime.types import Object

_ANNOTATION = "prometheus.io"
_RULES = "rules.yaml"


@dataclass(frozen=True, slots=True)
class Prometheus:
    """One server at a loopback address."""

    url: str
    folder: Path

    def follow(self, pods: Iterable[Object]) -> None:
        """Scrape these pods from now on, and no others."""
        groups = [group for group in map(_target, pods) if group]
        draft = self.folder / "targets.draft"
        draft.write_bytes(orjson.dumps(groups))
        draft.rename(self.folder / "targets.json")

    def query(self, expression: str) -> dict[tuple[str, ...], float]:
        """Return the value of each series, by its labels `pod` and `controller`."""
        url = f"{self.url}/api/v1/query?{urlencode({'query': expression})}"
        with urllib.request.urlopen(url, timeout=5.0) as answer:  # noqa: S310  it is our own
            series = orjson.loads(answer.read())["data"]["result"]
        return {
            (result["metric"].get("pod", ""), result["metric"].get("controller", "")): float(
                result["value"][1]
            )
            for result in series
        }

    def alerts(self) -> dict[str, str]:
        """Return the alerts that are pending, firing or not evaluated yet, and their states.

        Raises ValueError for a rule that could not be evaluated.
        """
        with urllib.request.urlopen(f"{self.url}/api/v1/rules", timeout=5.0) as answer:  # noqa: S310  it is our own
            groups = orjson.loads(answer.read())["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        if broken := [rule for rule in rules if rule["health"] == "err"]:
            raise ValueError(f"{broken[0]['name']}: {broken[0]['lastError']}")
        states = {
            rule["name"]: rule["state"] if rule["health"] == "ok" else "unknown" for rule in rules
        }
        return {name: state for name, state in states.items() if state != "inactive"}

    def _ready(self) -> bool:
        try:
            url = f"{self.url}/-/ready"
            with urllib.request.urlopen(url, timeout=2.0) as answer:  # noqa: S310  it is our own
                return bool(answer.status == 200)
        except OSError:
            return False


def write_rules(folder: Path, part: str = "alerts") -> Path:
    """Write the groups of the PrometheusRule of deploy/`part` as a rule file; return its path."""
    source = REPOSITORY / "deploy" / part / "prometheus_rule.yaml"
    rule = yaml.safe_load(source.read_text(encoding="utf-8"))
    path = folder / _RULES
    path.write_bytes(orjson.dumps(rule["spec"]))
    return path


def promtool(*arguments: str | Path) -> str:
    """Run promtool, and return its output. Fails with the output if it finds a problem."""
    binary = unpack("prometheus", to_stderr()) / "usr" / "bin" / "promtool"
    command = subprocess.run(
        [binary, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert command.returncode == 0, command.stdout
    return command.stdout


@contextmanager
def prometheus(rig: Rig, folder: Path) -> Iterator[Prometheus]:
    """Run a Prometheus that scrapes the followed pods every second."""
    binary = unpack("prometheus", rig.progress) / "usr" / "bin" / "prometheus"
    # JSON is YAML.
    (folder / "prometheus.yaml").write_bytes(orjson.dumps(_configuration(folder)))
    write_rules(folder)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with (folder / "prometheus.log").open("wb") as output:
        process = subprocess.Popen(
            [
                "setpriv", "--pdeathsig", "KILL", "--", str(binary),
                f"--config.file={folder}/prometheus.yaml",
                f"--storage.tsdb.path={folder}/prometheus-data",
                f"--web.listen-address={address}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
    server = Prometheus(f"http://{address}", folder)
    try:
        until("Prometheus is ready", server._ready, 60.0)
        yield server
    finally:
        process.terminate()
        process.wait(30.0)


def _configuration(folder: Path) -> Object:
    files = {"files": [str(folder / "targets.json")], "refresh_interval": "1s"}
    job = {"job_name": "kubernetes-pods", "file_sd_configs": [files], "honor_labels": True}
    return {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "scrape_configs": [job],
        "rule_files": [str(folder / _RULES)],
    }


def _target(pod: Object) -> Object | None:
    """Return the target group of a pod; None for one without the annotations or an address."""
    annotations = pod["metadata"].get("annotations") or {}
    address = (pod.get("status") or {}).get("podIP")
    if annotations.get(f"{_ANNOTATION}/scrape") != "true" or not address:
        return None
    path = annotations.get(f"{_ANNOTATION}/path", "/metrics")
    return {
        "targets": [f"{address}:{annotations[f'{_ANNOTATION}/port']}"],
        "labels": {"pod": pod["metadata"]["name"], "__metrics_path__": path},
    }
