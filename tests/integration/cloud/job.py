"""Writes and reads one object with the code of Jobs: `python -m tests.integration.cloud.job`.

It has the environment of a Job. Prints the content, or the failure as in the report.
"""

import asyncio
import os
import sys

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.store.egress_policy import policy_of
from baoctl.jobs.store.store import open_store
from contracts.jobs.env import StoreEnv

KEY = "prod/ns/c/2026-01-01T03-00-00Z-0a1b2c3d.snap.json"
CONTENT = b"the manifest of a snapshot"


async def run() -> str:
    """Write and read the object. Raises JobFailure."""
    env = StoreEnv.from_environment(os.environ)
    policy = policy_of(os.environ, env.forbidden)
    async with open_store(env, os.environ, policy) as store:
        await store.write(KEY, CONTENT)
        return (await store.read(KEY, 100) or b"").decode()


def main() -> int:
    """Run it, and print the result."""
    try:
        sys.stdout.write(asyncio.run(run()))
    except JobFailure as failure:
        sys.stdout.write(f"{failure.failure}: {failure}")
        return failure.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
