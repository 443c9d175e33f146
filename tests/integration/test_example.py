"""The website example as in its documentation: in a separate process with minimal permissions."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from e2e.rig import Rig
from e2e.rig.kube import wait_established
from examples.website.reconcile import DEPLOYMENT, DIRECTORY, WEBSITE
from runtime.builtin_kinds import CONFIG_MAP, EVENT, LEASE, SERVICE
from runtime.client.client import Client
from runtime.clock import SystemClock
from runtime.errors import NotFound
from runtime.types import Object, ObjectKey, Resource, uid_of

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "website"
ACCOUNT = "website-operator"
SAMPLE: Object = yaml.safe_load((FOLDER / "sample.yaml").read_text())
SECONDS = 60.0
"""The timeout, for a busy machine; an idle one needs a second."""


async def until(holds: Callable[[], Awaitable[bool]], goal: str) -> None:
    """Poll until the condition is true."""
    clock = SystemClock()
    end = clock.monotonic() + SECONDS
    while not await holds():
        assert clock.monotonic() < end, f"not within {SECONDS:g} s: {goal}"
        await clock.sleep(0.05)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.fixture
def website_api(control_plane: Rig) -> None:
    """The CRD and the RBAC of the operator."""
    for name in ("crd.yaml", "rbac.yaml"):
        control_plane.kubectl("apply", "--server-side", "-f", str(FOLDER / name))
    wait_established(control_plane.kubectl, "crd/websites.sites.example.com")


@pytest.fixture
def account(control_plane: Rig, website_api: None, tmp_path: Path) -> Path:
    """A kubeconfig of the ServiceAccount of the operator, with minimal permissions."""
    token = control_plane.kubectl("create", "token", ACCOUNT).strip()
    config = yaml.safe_load(control_plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


@dataclass(frozen=True)
class Site:
    """The Website of one test, read as the administrator."""

    client: Client
    namespace: str

    def key(self, name: str = "hello") -> ObjectKey:
        return ObjectKey(self.namespace, name)

    async def write(self, spec: Object) -> None:
        body = {**SAMPLE, "metadata": {"namespace": self.namespace, "name": "hello"}, "spec": spec}
        await self.client.apply(WEBSITE, body, field_manager="itest", force=True)

    async def read(self, resource: Resource, name: str = "hello") -> Object | None:
        try:
            return await self.client.get(resource, self.key(name))
        except NotFound:
            return None

    async def has(self, resource: Resource, *path: str, value: object) -> bool:
        """Whether a field of an object of the site has that value; None: it is absent."""
        name = DIRECTORY if path and path[0] == DIRECTORY else "hello"
        live: object = await self.read(resource, name)
        for step in path[1:] if name == DIRECTORY else path:
            live = live.get(step) if isinstance(live, dict) else None
        return live == value

    async def reason(self, value: str) -> None:
        await until(
            lambda: self.has(WEBSITE, "status", "reason", value=value),
            f"the Website has reason {value}",
        )


@pytest_asyncio.fixture
async def site(client: Client, namespace: str) -> Site:
    return Site(client, namespace)


@asynccontextmanager
async def operator(kubeconfig: Path, namespace: str, port: int) -> AsyncIterator[None]:
    """Run the operator in a process, which must exit with status 0 after SIGTERM."""
    flags = ("--kubeconfig", str(kubeconfig), "--namespace", namespace, "--port", str(port))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "examples.website", *flags, cwd=ROOT
    )
    try:
        yield
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), SECONDS) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_a_site_is_created_repaired_changed_and_deleted(
    account: Path, site: Site, client: Client
) -> None:
    port = free_port()
    async with operator(account, site.namespace, port):
        await site.write(SAMPLE["spec"])
        await site.reason("RollingOut")
        address = f"http://hello.{site.namespace}.svc"
        assert await site.has(CONFIG_MAP, DIRECTORY, "data", "hello", value=address)
        await _is_ready(site, 2)
        await site.reason("Published")

        await _heals(site)
        await site.write({**SAMPLE["spec"], "replicas": 3, "pages": {"index.html": "new"}})
        expected = {"index.html": "new"}
        await until(
            lambda: site.has(CONFIG_MAP, "data", value=expected), "the ConfigMap has the new pages"
        )
        await until(
            lambda: site.has(DEPLOYMENT, "spec", "replicas", value=3),
            "the Deployment has three replicas",
        )
        await site.reason("RollingOut")
        assert 'website_pages{name="hello"' in await _metrics(port)

        website = await site.read(WEBSITE)
        assert website is not None
        await client.delete(WEBSITE, site.key(), uid=uid_of(website))
        await until(lambda: site.has(WEBSITE, value=None), "the Website is gone")
        directory = await site.read(CONFIG_MAP, DIRECTORY)
        assert directory is not None
        assert not directory.get("data")
        # The managed fields have no entry of the operator either.
        managers = [entry["manager"] for entry in directory["metadata"].get("managedFields", [])]
        assert [name for name in managers if name.startswith(ACCOUNT)] == []
        assert 'website_pages{name="hello"' not in await _metrics(port)
    lease = await client.get(LEASE, ObjectKey(site.namespace, ACCOUNT))
    assert lease["spec"]["holderIdentity"] == ""
    reasons = [event["reason"] for event in (await client.list(EVENT, site.namespace)).items]
    assert {"RollingOut", "Published"} <= {*reasons}


async def _is_ready(site: Site, replicas: int) -> None:
    """Write the status as the Deployment controller does, which does not run here."""
    key = site.key()
    ops = [
        {"op": "add", "path": "/status/replicas", "value": replicas},
        {"op": "add", "path": "/status/readyReplicas", "value": replicas},
    ]
    await site.client.json_patch(DEPLOYMENT, key, ops, subresource="status")


async def _heals(site: Site) -> None:
    """Foreign edits, deletions and removed entries of the directory are repaired."""
    client = site.client
    edit = [{"op": "replace", "path": "/data/index.html", "value": "defaced"}]
    await client.json_patch(CONFIG_MAP, site.key(), edit)
    pages = SAMPLE["spec"]["pages"]
    await until(
        lambda: site.has(CONFIG_MAP, "data", value=pages), "the ConfigMap has the pages again"
    )
    service = await site.read(SERVICE)
    assert service is not None
    await client.delete(SERVICE, site.key(), uid=uid_of(service))

    async def made_anew() -> bool:
        live = await site.read(SERVICE)
        return live is not None and uid_of(live) != uid_of(service)

    await until(made_anew, "the Service is recreated")
    gone = [{"op": "remove", "path": "/data/hello"}]
    await client.json_patch(CONFIG_MAP, site.key(DIRECTORY), gone)
    address = f"http://hello.{site.namespace}.svc"
    await until(
        lambda: site.has(CONFIG_MAP, DIRECTORY, "data", "hello", value=address),
        "the ConfigMap has the entry again",
    )


async def _metrics(port: int) -> str:
    def read() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            text: str = answer.read().decode()
            return text

    return await asyncio.to_thread(read)


async def test_an_object_of_another_owner_blocks_the_site_and_is_not_changed(
    account: Path, site: Site, client: Client
) -> None:
    theirs = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": site.namespace, "name": "hello"},
        "data": {"mine": "yes"},
    }
    await client.create(CONFIG_MAP, theirs, field_manager="stranger")
    async with operator(account, site.namespace, free_port()):
        await site.write(SAMPLE["spec"])
        await site.reason("Foreign")
        assert await site.has(CONFIG_MAP, "data", value={"mine": "yes"})


async def test_an_idle_operator_writes_nothing(
    control_plane: Rig, account: Path, site: Site
) -> None:
    """Neither does a second process at its start."""
    async with operator(account, site.namespace, free_port()):
        await site.write(SAMPLE["spec"])
        await site.reason("RollingOut")
    before = _writes(control_plane, site.namespace)
    assert before
    port = free_port()
    async with operator(account, site.namespace, port):
        sites = len((await site.client.list(WEBSITE)).items)

        async def has_looked() -> bool:
            try:
                metrics = await _metrics(port)
            except OSError:
                return False
            passes = re.search(
                r'reconcile_time_seconds_count\{controller="website"\} (\d+)', metrics
            )
            return passes is not None and int(passes[1]) >= sites

        await until(has_looked, "every site is reconciled")
    assert _writes(control_plane, site.namespace)[len(before) :] == []


def _writes(rig: Rig, namespace: str) -> list[str]:
    """The writes of the operator in a namespace by the audit log, without Leases and Events."""
    results = []
    for line in rig.audit_log.read_text().splitlines():
        event = json.loads(line)
        target = event.get("objectRef", {})
        # A request without a valid token has no user.
        ours = event["user"].get("username", "").endswith(f":{ACCOUNT}")
        chatter = target.get("resource") in ("leases", "events")
        writes = event["verb"] in ("create", "patch", "update", "delete")
        if ours and writes and not chatter and target.get("namespace") == namespace:
            results.append(f"{event['verb']} {target['resource']}/{target.get('name')}")
    return results


def test_the_commands_of_the_documentation_work(
    control_plane: Rig, website_api: None, tmp_path: Path
) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "docs/runtime.md").read_text(), re.DOTALL)
    script = next(block for block in blocks if "examples.website" in block)
    # The rig exists already; all other commands run as printed.
    kept = [line for line in script.splitlines() if "e2e.rig" not in line]
    assert len(kept) >= 8
    path = f"{Path(sys.executable).parent}:{control_plane.environment()['PATH']}"
    environment = {**os.environ, **control_plane.environment(), "PATH": path}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(kept).replace("8099", str(free_port()))],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "deployment.apps/hello" in done.stdout
    assert 'result="success"' in done.stdout
