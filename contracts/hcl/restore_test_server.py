"""config.hcl of the ephemeral server of a restore test, with the seal of the cluster.

Uses contracts.hcl_quote and contracts.naming.mount_paths. Called by
contracts.builders.restore_test_server. The seal and its plugins are copied verbatim from the file
of the servers, so the test always uses the same seal. The rest of that file is not copied: no
address, no audit device, no telemetry.
"""

import re
from collections.abc import Iterator

from contracts.hcl_quote import quote
from contracts.naming import mount_paths
from contracts.naming.ports import API, CLUSTER

LOOPBACK = "127.0.0.1"
ADDRESS = f"{LOOPBACK}:{API.number}"
"""Address of the server, without TLS: only its own pod can reach it."""
NODE_ID = "restore-test"

# These seals need no remote service, so the server does not need DNS.
_LOCAL = frozenset({"static", "pkcs11"})
_SEAL = re.compile(r'seal "([^"]+)" \{')
_STARTS = ('seal "', 'plugin "kms" ')
_ROOT = "plugin_"


def restore_test_config(config: str) -> str:
    """Return the file for an empty server, from config.hcl as the operator renders it.

    Raises ValueError if that file has no seal.
    """
    blocks = list(_blocks(config))
    seal_type(config)
    own = (
        f'listener "tcp" {{\n'
        f"  address         = {quote(ADDRESS)}\n"
        f"  cluster_address = {quote(f'{LOOPBACK}:{CLUSTER.number}')}\n"
        f"  tls_disable     = true\n"
        f"}}",
        f'storage "raft" {{\n'
        f"  path                   = {quote(mount_paths.DATA)}\n"
        f"  node_id                = {quote(NODE_ID)}\n"
        f"  performance_multiplier = 1\n"
        f"}}",
        f"api_addr     = {quote(f'http://{ADDRESS}')}\n"
        f"cluster_addr = {quote(f'https://{LOOPBACK}:{CLUSTER.number}')}\n"
        f"ui           = false",
    )
    roots = [line for line in config.splitlines() if line.startswith(_ROOT)]
    return "\n\n".join((*own, *roots, *blocks)) + "\n"


def seal_type(config: str) -> str:
    """Return the seal type of a rendered config.hcl ("static"); raises ValueError without one."""
    for line in config.splitlines():
        stanza = _SEAL.match(line)
        if stanza:
            return stanza[1]
    raise ValueError("config.hcl has no seal")


def is_local_seal(config: str) -> bool:
    """Return whether the server unseals without a remote service."""
    return seal_type(config) in _LOCAL


def _blocks(config: str) -> Iterator[str]:
    """Yield the blocks to copy. In a rendered file a brace in the first column ends a block: quoted
    values have no line break."""
    lines: list[str] = []
    for line in config.splitlines():
        if lines or line.startswith(_STARTS):
            lines.append(line)
        if lines and line == "}":
            yield "\n".join(lines)
            lines = []
