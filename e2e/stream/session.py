"""Starts the servers, runs both programs alternately, and prints the table."""

import json
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from e2e.harness import certificates
from e2e.harness.stores import ServerHost, s3_store
from e2e.harness.waiting import until
from e2e.rig.progress import to_stderr

SOURCE_PORT, STORE_PORT = 18_200, 19_000
TIMEOUT = 900.0


def _run_once(program: str, settings: dict[str, Any]) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "e2e.stream.programs", program, json.dumps(settings)],
        capture_output=True, text=True, check=True, timeout=TIMEOUT,
    )  # fmt: skip
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _row(program: str, runs: list[dict[str, float]], mebibytes: int) -> str:
    seconds = statistics.median(run["seconds"] for run in runs)
    memory = max(run["mebibytes"] for run in runs)
    cpu = statistics.median(run["cpu"] for run in runs)
    rate = mebibytes / seconds
    return f"| {program} | {seconds:.1f} | {rate:.0f} | {memory:.0f} | {cpu:.1f} |"


def _ratio(runs: dict[str, list[dict[str, float]]]) -> float:
    """Return the throughput of the job relative to the bare library: the median of all pairs."""
    pairs = zip(runs["bare"], runs["ours"], strict=True)
    return statistics.median(bare["seconds"] / ours["seconds"] for bare, ours in pairs)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--mebibytes", type=click.IntRange(16, 4096), default=1024, show_default=True)
@click.option("--runs", type=click.IntRange(1, 20), default=3, show_default=True)
def main(mebibytes: int, runs: int) -> None:
    """Stream a snapshot with the job and with the bare library, alternately."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        authority = certificates.authority("source")
        leaf = certificates.leaf(authority, ("source",), addresses=("127.0.0.1",))
        for file, content in (
            ("tls.crt", leaf.pem), ("tls.key", leaf.key_pem), ("ca.crt", authority.pem),
        ):  # fmt: skip
            (folder / file).write_bytes(content)
        source = subprocess.Popen(
            [sys.executable, "-m", "e2e.stream.source", name, str(SOURCE_PORT), str(mebibytes)]
        )
        try:
            runs_by_program = _run_all(folder, runs)
        finally:
            source.kill()
            source.wait()
    print("| program | seconds | MiB/s | peak MiB | CPU s |\n|---|---|---|---|---|")
    for program, figures in runs_by_program.items():
        print(_row(program, figures, mebibytes))
    print(f"throughput of the job: {_ratio(runs_by_program):.0%} of the bare library")


def _run_all(folder: Path, runs: int) -> dict[str, list[dict[str, float]]]:
    runs_by_program: dict[str, list[dict[str, float]]] = {"bare": [], "ours": []}
    with s3_store(ServerHost.loopback(to_stderr()), folder / "store", port=STORE_PORT) as store:
        credentials = folder / "credentials"
        credentials.mkdir()
        for name, content in store.secret().items():
            (credentials / name).write_text(content)
        target = store.target()
        settings = {
            "bucket": target["bucket"], "endpoint": target["endpoint"], "port": SOURCE_PORT,
            "credentials": str(credentials), "authority": str(folder / "ca.crt"),
        }  # fmt: skip
        until("the source accepts connections", _accepts, 60.0, tolerate=(OSError,))
        for _ in range(runs):
            for program, figures in runs_by_program.items():
                figures.append(_run_once(program, settings))
                for key in store.keys(""):
                    store.delete(key)
    return runs_by_program


def _accepts() -> bool:
    with socket.create_connection(("127.0.0.1", SOURCE_PORT), timeout=5.0):
        return True
