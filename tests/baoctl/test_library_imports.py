"""baoctl.library_imports: aiohttp without the CAs of the system, which others can still read."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from managers.certs.x509 import make_authority
from runtime.clock import SystemClock

PROGRAM: Final = """
import ssl, sys
{statement}
from aiohttp import connector
defaults = connector._SSL_CONTEXT_VERIFIED, connector._SSL_CONTEXT_UNVERIFIED
contexts = *defaults, ssl.create_default_context()
print(
    *(context.cert_store_stats()["x509_ca"] for context in contexts),
    "frozenlist._frozenlist" in sys.modules,
)
"""
"""Prints the CAs of the two contexts of aiohttp, and those of a context that is created later."""
OURS: Final = "from baoctl.library_imports import import_aiohttp; import_aiohttp()"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("import aiohttp", "1 1 1 True"),
        (OURS, "0 0 1 False"),
        (f"import aiohttp; {OURS}", "1 1 1 True"),
        (f"import frozenlist; {OURS}", "0 0 1 True"),
    ],
    ids=["plain", "ours", "after a plain import", "after a part"],
)
def test_only_other_contexts_read_the_authorities(
    statement: str, expected: str, tmp_path: Path
) -> None:
    file = tmp_path / "ca.crt"
    file.write_bytes(make_authority("c", SystemClock().now()).certificate)
    environment = {**os.environ, "SSL_CERT_FILE": str(file), "SSL_CERT_DIR": str(tmp_path)}
    program = [sys.executable, "-c", PROGRAM.format(statement=statement)]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == expected
