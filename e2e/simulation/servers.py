"""Simulated OpenBao servers: one listener serves the addresses of all pods, with real TLS.

The TLS server name of the client selects the certificate of a cluster, so names of clusters must be
unique in all namespaces.
"""

import itertools
import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from aiohttp import web

from contracts.naming import names
from contracts.naming.ports import API
from managers.bao.client import AUTOPILOT_SETTINGS, LOGIN_SETTINGS
from runtime.types import ObjectKey

FIRST_ADDRESS = IPv4Address("127.64.0.1")
"""All of 127.0.0.0/8 belongs to the loopback interface. No address is used twice."""
LAST_INDEX = 100
_EMPTY_AT_FIRST = (AUTOPILOT_SETTINGS, LOGIN_SETTINGS)
_TOKEN = {"client_token": "t" * 95, "lease_duration": 3600}


@dataclass(slots=True)
class Server:
    """One server, which runs."""

    key: ObjectKey
    """The key of its pod."""
    uid: str
    cluster: str
    version: str
    address: str
    leads: bool = False


@dataclass(slots=True)
class Raft:
    """The shared state of the servers of one cluster."""

    servers: dict[ObjectKey, Server] = field(default_factory=dict)
    initialized: bool = False
    written: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Bodies of writes, by path."""

    @property
    def leader(self) -> Server | None:
        """The leader, None if there is none."""
        return next((server for server in self.servers.values() if server.leads), None)


def _ignore(_: ObjectKey) -> None:
    """The default of `on_change`: does nothing."""


@dataclass(slots=True)
class Servers:
    """The servers of all clusters."""

    on_change: Callable[[ObjectKey], None] = _ignore
    """Called with the pod of a server that becomes the leader, or steps down."""
    _clusters: dict[str, Raft] = field(default_factory=dict)
    _by_pod: dict[ObjectKey, Server] = field(default_factory=dict)
    _by_address: dict[str, Server] = field(default_factory=dict)
    _contexts: dict[str, ssl.SSLContext] = field(default_factory=dict)
    _addresses: Iterator[int] = field(default_factory=itertools.count)

    async def listen(self) -> None:
        """Serve all addresses. Raises OSError if the port is in use."""
        application = web.Application()
        application.router.add_route("*", "/v1/{path:.*}", self._respond)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = self._choose_certificate
        # Every address of the network namespace, which has only the loopback interface.
        await web.TCPSite(runner, "0.0.0.0", API.number, ssl_context=context).start()  # noqa: S104  loopback only

    def has_certificate(self, cluster: str) -> bool:
        """Whether `add_certificate` was called for the cluster."""
        return names.raft_server_name(cluster) in self._contexts

    def add_certificate(self, cluster: str, certificate: bytes, key: bytes) -> None:
        """Serve this certificate chain (PEM) for the cluster."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder) / "tls.crt", Path(folder) / "tls.key"
            for file, content in zip(files, (certificate, key), strict=True):
                file.write_bytes(content)
            context.load_cert_chain(*files)
        self._contexts[names.raft_server_name(cluster)] = context

    def start(self, key: ObjectKey, uid: str, cluster: str, version: str) -> Server:
        """Start the server of a pod, or return it if it runs.

        The first server of a cluster initializes it and leads; another one joins.
        """
        server = self._by_pod.get(key)
        if server is not None and server.uid == uid:
            return server
        if server is not None:
            self.stop(key)
        address = str(FIRST_ADDRESS + next(self._addresses))
        raft = self._clusters.setdefault(cluster, Raft())
        server = Server(key, uid, cluster, version, address, leads=raft.leader is None)
        raft.initialized = True
        raft.servers[key] = self._by_pod[key] = self._by_address[address] = server
        return server

    def runs(self, key: ObjectKey) -> bool:
        """Whether the server of a pod is running."""
        return key in self._by_pod

    def stop(self, key: ObjectKey) -> None:
        """Stop the server of a pod; if it was the leader, another server becomes the leader."""
        server = self._by_pod.pop(key, None)
        if server is None:
            return
        del self._by_address[server.address]
        raft = self._clusters[server.cluster]
        del raft.servers[key]
        if server.leads:
            self._elect(raft)

    def _elect(self, raft: Raft, other_than: Server | None = None) -> None:
        for server in raft.servers.values():
            if server is not other_than:
                server.leads = True
                self.on_change(server.key)
                return

    def _choose_certificate(
        self, connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext
    ) -> int | None:
        context = self._contexts.get(name or "")
        if context is None:
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        connection.context = context
        return None

    async def _respond(self, request: web.Request) -> web.Response:
        transport = request.transport
        assert transport is not None
        server = self._by_address.get(transport.get_extra_info("sockname")[0])
        if server is None:
            # No server listens at the address of a deleted pod.
            transport.abort()
            return web.Response()
        raft, path = self._clusters[server.cluster], request.match_info["path"]
        if request.method in ("POST", "PUT"):
            body = await request.json() if request.can_read_body else {}
            return self._write(server, raft, path, body)
        if (response := _RESPONSES.get(path)) is not None:
            return web.json_response(response(server, raft))
        if path in raft.written or path in _EMPTY_AT_FIRST:
            return web.json_response({"data": raft.written.get(path, {})})
        return web.json_response({"errors": []}, status=404)

    def _write(
        self, server: Server, raft: Raft, path: str, body: Mapping[str, Any]
    ) -> web.Response:
        if path.endswith("/login"):
            return web.json_response({"auth": _TOKEN})
        if path == "sys/step-down":
            if server.leads and len(raft.servers) > 1:
                server.leads = False
                self._elect(raft, other_than=server)
                self.on_change(server.key)
            return web.Response(status=204)
        raft.written[path] = {**raft.written.get(path, {}), **body}
        return web.Response(status=204)


def health(server: Server, raft: Raft) -> dict[str, Any]:
    """The response of sys/health."""
    return {
        "initialized": raft.initialized,
        "sealed": False,
        "standby": not server.leads,
        "version": server.version,
        "cluster_id": server.cluster,
    }


def leader(_: Server, raft: Raft) -> dict[str, Any]:
    """The response of sys/leader."""
    address = f"https://{raft.leader.key.name}:{API.number}" if raft.leader else ""
    return {
        "leader_address": address,
        "raft_applied_index": LAST_INDEX,
        "raft_committed_index": LAST_INDEX,
    }


def configuration(_: Server, raft: Raft) -> dict[str, Any]:
    """The response of sys/storage/raft/configuration: every server has a vote."""
    members = [
        {"node_id": server.key.name, "leader": server.leads, "voter": True}
        for server in raft.servers.values()
    ]
    return {"data": {"config": {"servers": members}}}


def autopilot_state(_: Server, raft: Raft) -> dict[str, Any]:
    """The response of sys/storage/raft/autopilot/state: every server is healthy."""
    servers = {
        server.key.name: {
            "healthy": True,
            "status": "leader" if server.leads else "voter",
            "last_index": LAST_INDEX,
        }
        for server in raft.servers.values()
    }
    state = {
        "healthy": True,
        "failure_tolerance": (len(servers) - 1) // 2,
        "leader": raft.leader.key.name if raft.leader else "",
        "voters": [*servers],
        "servers": servers,
    }
    return {"data": state}


_RESPONSES: Mapping[str, Callable[[Server, Raft], dict[str, Any]]] = {
    "sys/health": health,
    "sys/leader": leader,
    "sys/storage/raft/configuration": configuration,
    "sys/storage/raft/autopilot/state": autopilot_state,
}
