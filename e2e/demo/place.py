"""Where the demo runs: on a rig that it brings up itself, or on the reader's own cluster."""

import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from e2e.demo.access import Access, InsideRig, PortForward
from e2e.demo.api import Api
from e2e.demo.errors import DemoError
from e2e.demo.kubectl import Kubectl
from e2e.demo.manifests import Installation
from e2e.demo.screen import Screen
from e2e.rig import Rig, images

OPENBAO_ON_RIG = "localhost/openbao"


class Place(Protocol):
    """A Kubernetes cluster to be, and how its services are reached."""

    @property
    def title(self) -> str:
        """A few words for the first line."""
        ...

    @property
    def kubectl(self) -> Kubectl:
        """kubectl as administrator; works once `up` has returned."""
        ...

    @property
    def audit_log(self) -> Path | None:
        """The audit log of the API server; None where it cannot be read."""
        ...

    def up(self, screen: Screen) -> None:
        """Make sure that the cluster is there. Raises DemoError, RigError."""
        ...

    def image(self, screen: Screen) -> Installation:
        """Make sure that the operator image is there. Raises DemoError, RigError."""
        ...

    def access(self, api: Api) -> Access:
        """Return a way to Services and pods."""
        ...

    def environment_lines(self) -> list[str]:
        """Return the shell lines that point kubectl at the cluster."""
        ...

    def stop_lines(self, namespace: str, cluster: str) -> list[str]:
        """Return the commands that remove what the demo made."""
        ...


@dataclass(frozen=True, slots=True)
class OnRig:
    """One machine, one rig."""

    rig: Rig

    @property
    def title(self) -> str:
        """The name of the rig."""
        return f"on this machine, rig {self.rig.name}"

    @property
    def kubectl(self) -> Kubectl:
        """The rig's own kubectl."""
        return Kubectl(str(self.rig.bin("kubectl")), self.rig.environment())

    @property
    def audit_log(self) -> Path | None:
        """The log of the rig's API server."""
        return self.rig.audit_log

    def up(self, screen: Screen) -> None:
        """Bring the rig up; what runs already is kept."""
        self.rig.up()
        screen.say(f"kubeconfig {self.rig.kubeconfig}")

    def image(self, screen: Screen) -> Installation:
        """Build the image from the checkout and load it; nothing happens when it is current."""
        reference = self.rig.load_operator_image()
        content = images.digest(self.rig.layout, reference) or ""
        screen.say(f"{reference} {content.removeprefix('sha256:')[:12]}")
        return Installation(reference, "IfNotPresent", OPENBAO_ON_RIG, content)

    def access(self, api: Api) -> Access:
        """Go through the network namespace of the rig."""
        return InsideRig(self.rig, api)

    def environment_lines(self) -> list[str]:
        """Return KUBECONFIG, and PATH for the rig's kubectl."""
        folder = shlex.quote(str(self.rig.paths.bin))
        return [
            f"export KUBECONFIG={shlex.quote(str(self.rig.kubeconfig))}",
            f'export PATH={folder}:"$PATH"',
        ]

    def stop_lines(self, namespace: str, cluster: str) -> list[str]:
        """Take the whole rig down."""
        return ["make down"]


@dataclass(frozen=True, slots=True)
class OnCluster:
    """A cluster that is there, by the KUBECONFIG of the environment."""

    installation: Installation

    @property
    def title(self) -> str:
        """That it is the reader's."""
        return "on the cluster of your kubeconfig"

    @property
    def kubectl(self) -> Kubectl:
        """The kubectl on PATH, in the environment as it is."""
        return Kubectl(shutil.which("kubectl") or "kubectl", dict(os.environ))

    @property
    def audit_log(self) -> Path | None:
        """Not for us to read."""
        return None

    def up(self, screen: Screen) -> None:
        """Say which cluster it is, and that it answers."""
        context = self.kubectl("config", "current-context").strip()
        self.kubectl("get", "--raw", "/readyz", "--request-timeout=10s")
        screen.say(f"context {context} answers")

    def image(self, screen: Screen) -> Installation:
        """Take the image that was named."""
        if not self.installation.image:
            raise DemoError(
                "which operator image? set OPERATOR_IMAGE to one that this cluster can pull, "
                "or that its nodes have (deploy/Containerfile says how to build it)"
            )
        screen.say(f"{self.installation.image}, pull policy {self.installation.pull_policy}")
        return self.installation

    def access(self, api: Api) -> Access:
        """Go through kubectl port-forward."""
        return PortForward(self.kubectl)

    def environment_lines(self) -> list[str]:
        """Nothing to set: kubectl points there already."""
        return []

    def stop_lines(self, namespace: str, cluster: str) -> list[str]:
        """Delete the cluster with its data, and then the operator."""
        return [
            f"kubectl -n {namespace} patch openbaocluster {cluster} --type merge "
            """-p '{"spec":{"deletionPolicy":"DeleteAll"}}'""",
            f"kubectl delete namespace {namespace}",
            "kubectl delete -k deploy/overlays/cluster-wide",
        ]
