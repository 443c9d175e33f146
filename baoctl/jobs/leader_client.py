"""The client of a job for the leader: finds the leader among the pods, and logs in to it.

Uses managers.bao. Called by baoctl.jobs.backup, restore and upgrade. A restore test does not use
this module: its server runs in the pod of the job.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from baoctl.jobs.failures import JobFailure
from contracts.jobs.env import ServerEnv
from contracts.naming import names
from contracts.naming.ports import API
from managers.bao.client import OPERATOR_MOUNT, Bao, BaoError, Denied
from managers.bao.models import ServerHealth
from managers.context.authority_pem import ascii_pem
from runtime.client.write_guard import allow_writes
from runtime.clock import Clock

PAUSES = (1.0, 2.0, 4.0, 8.0)
"""Seconds between searches for the leader: an election takes up to ten seconds."""
_NO_PODS = "no pod"
_NO_NAME = "its name does not resolve"
_NO_ANSWER = "no answer"
SILENT = (_NO_NAME, _NO_ANSWER)
"""States of a server that did not answer."""


@dataclass(frozen=True, slots=True)
class Leader:
    """An active node: initialized, unsealed, and not a standby."""

    pod: str
    address: str
    health: ServerHealth


@dataclass(frozen=True, slots=True)
class LeaderSession:
    """Connections to the servers of one cluster, its leader, and a token for it."""

    bao: Bao
    leader: Leader
    token: str = field(repr=False)


async def resolve(host: str) -> str:
    """Return an address of a host. Raises OSError."""
    loop = asyncio.get_running_loop()
    infos = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return str(infos[0][4][0])


@dataclass(frozen=True, slots=True)
class ServerAddresses:
    """How a job connects to servers: the resolver of their names, and the port."""

    resolve: Callable[[str], Awaitable[str]] = resolve
    port: int = API.number


@asynccontextmanager
async def servers(env: ServerEnv, addresses: ServerAddresses) -> AsyncIterator[Bao]:
    """Open connections to the servers of a cluster.

    Raises JobFailure(Config) if its CA cannot be read.
    """
    authority = authority_of(env)
    name = env.server_name or names.raft_server_name(env.cluster)
    async with Bao(authority, name, addresses.port, guard=allow_writes) as bao:
        yield bao


def authority_of(env: ServerEnv) -> str:
    """Read the CA of the servers, as PEM; "" for the CAs of the system.

    Raises JobFailure(Config).
    """
    if not env.ca_path:
        return ""
    return ascii_pem(_file(env.ca_path, "Config", "the CA of the servers"))


@asynccontextmanager
async def open_session(
    env: ServerEnv, clock: Clock, addresses: ServerAddresses
) -> AsyncIterator[LeaderSession]:
    """Find the leader and log in to it. Raises JobFailure."""
    async with servers(env, addresses) as bao:
        leader = await find_leader(bao, env, clock, addresses)
        yield LeaderSession(bao, leader, await log_in(bao, leader.address, env))


async def find_leader(bao: Bao, env: ServerEnv, clock: Clock, addresses: ServerAddresses) -> Leader:
    """Query all pods until one leads.

    Raises JobFailure(LeaderDiscovery) with the state of each pod.
    """
    states = await observe_servers(bao, env, addresses)
    for pause in PAUSES:
        leader = leader_in(states)
        if leader is not None:
            return leader
        await clock.sleep(pause)
        states = await observe_servers(bao, env, addresses)
    leader = leader_in(states)
    if leader is not None:
        return leader
    summary = "; ".join(f"{pod}: {state}" for pod, state in states.items()) or _NO_PODS
    raise JobFailure("LeaderDiscovery", f"no server of {env.cluster} leads ({summary})")


async def log_in(bao: Bao, address: str, env: ServerEnv) -> str:
    """Return a token for the server at an address. Raises JobFailure(Authentication)."""
    if env.auth == "token":
        return _file(env.token_path, "Authentication", "the token that tokenSecretRef names")
    if not env.role:
        raise JobFailure("Config", "BACKUP_JWT_AUTH_ROLE is not set: there is no role to log in")
    jwt = _file(env.jwt_path, "Authentication", "the token of the ServiceAccount")
    try:
        return (await bao.login(address, OPERATOR_MOUNT, env.role, jwt)).client_token
    except Denied as error:
        raise JobFailure(
            "Authentication",
            f"role {env.role} of auth/{OPERATOR_MOUNT} refuses the ServiceAccount of the job: "
            f"{error}",
        ) from None
    except BaoError as error:
        raise NoAnswerToLogin("Authentication", f"no answer to the login: {error}") from None


class NoAnswerToLogin(JobFailure):
    """The login failed, but no server refused it: the caller may retry before its deadline."""


async def observe_servers(
    bao: Bao, env: ServerEnv, addresses: ServerAddresses
) -> dict[str, Leader | str]:
    """Query all pods; return a Leader, or the name of another state, by the name of the pod."""
    states = await asyncio.gather(
        *(
            observe_server(bao, pod, host, addresses)
            for pod, host in zip(env.pods, env.hosts, strict=True)
        )
    )
    return dict(zip(env.pods, states, strict=True))


async def observe_server(bao: Bao, pod: str, host: str, addresses: ServerAddresses) -> Leader | str:
    """Query one server; return a Leader, or the name of another state."""
    try:
        address = await addresses.resolve(host)
        health = await bao.health(address)
    except OSError:
        return _NO_NAME
    except BaoError:
        return _NO_ANSWER
    if not health.initialized:
        return "not initialized"
    if health.sealed:
        return "sealed"
    return "a standby" if health.standby else Leader(pod, address, health)


def leader_in(states: dict[str, Leader | str]) -> Leader | None:
    """Return the leader; None if no server, or more than one, reports that it leads."""
    # A former leader may report for a moment that it still leads.
    leaders = [state for state in states.values() if isinstance(state, Leader)]
    return leaders[0] if len(leaders) == 1 else None


def _file(path: str, failure: str, what: str) -> str:
    try:
        content = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        content, reason = "", type(error).__name__
    else:
        reason = "it is empty"
    if content:
        return content
    message = f"{what} at {path} cannot be read: {reason}"
    raise JobFailure("Config" if failure == "Config" else "Authentication", message)
