"""One of the two measured programs: prints its seconds, its memory and its processor time."""

import asyncio
import ipaddress
import json
import os
import resource
import ssl
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp
import obstore
from obstore.store import S3Store

from baoctl.jobs.backup import back_up
from baoctl.jobs.context import JobContext
from baoctl.jobs.leader_client import ServerAddresses
from baoctl.jobs.store.egress_policy import EgressPolicy
from contracts.jobs.env import BackupEnv, RunEnv, ServerEnv, StoreEnv
from managers.bao.client import SNAPSHOT
from runtime.clock import SystemClock

PART, CONCURRENCY = 10 << 20, 3
KEY = "ns/c/2026-01-01T03-00-00Z-0a1b2c3d.snap"


async def bare(settings: dict[str, Any]) -> None:
    """The bare library, with the same part size, without checks and without egress proxy."""
    credentials = Path(settings["credentials"])
    store = S3Store(
        settings["bucket"], endpoint=settings["endpoint"], region="us-east-1",
        access_key_id=(credentials / "accessKeyId").read_text(),
        secret_access_key=(credentials / "secretAccessKey").read_text(),
        client_options={"root_certificate": (credentials / "caCert").read_text()},
    )  # fmt: skip
    trust = ssl.create_default_context(cafile=settings["authority"])
    url = f"https://127.0.0.1:{settings['port']}/v1/{SNAPSHOT}"
    endless = aiohttp.ClientTimeout(total=None)
    async with (
        aiohttp.ClientSession(timeout=endless) as session,
        session.get(url, ssl=trust) as response,
    ):
        await obstore.put_async(
            store, "bare.snap", response.content.iter_any(), use_multipart=True, chunk_size=PART,
            max_concurrency=CONCURRENCY,
        )  # fmt: skip


async def ours(settings: dict[str, Any]) -> None:
    """The job: login, egress proxy, digest, archive, upload, check, manifest."""

    async def loopback(host: str) -> str:
        return "127.0.0.1"

    token = Path(settings["credentials"], "accessKeyId")
    env = BackupEnv(
        run=RunEnv("openbaobackups", "ns", "n", "u"),
        store=StoreEnv(
            "s3", settings["bucket"], settings["endpoint"], use_path_style=True, part_size=PART,
            concurrency=CONCURRENCY, credentials_path=settings["credentials"],
        ),
        server=ServerEnv(
            "ns", "c", ("c-0",), server_name="127.0.0.1", ca_path=settings["authority"],
            auth="token", token_path=str(token),
        ),
        key=KEY, backup_name="n", cluster_uid="u",
    )  # fmt: skip
    policy = EgressPolicy(permitted=(ipaddress.ip_network("127.0.0.0/8"),))
    await back_up(
        env, JobContext(SystemClock(), {}, policy, ServerAddresses(loopback, settings["port"]))
    )


def run(program: str, settings: dict[str, Any]) -> None:
    """Run one of the programs once, and print its figures."""
    began = time.monotonic()
    asyncio.new_event_loop().run_until_complete({"bare": bare, "ours": ours}[program](settings))
    used = resource.getrusage(resource.RUSAGE_SELF)
    figures = {
        "seconds": time.monotonic() - began,
        "mebibytes": used.ru_maxrss / 1024,
        "cpu": used.ru_utime + used.ru_stime,
    }
    print(json.dumps(figures), flush=True)
    os._exit(0)


if __name__ == "__main__":
    run(sys.argv[1], json.loads(sys.argv[2]))
