"""The environment of the demo: a rig that it creates, or an existing cluster."""

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


class Environment(Protocol):
    """A Kubernetes cluster, and the access to its Services."""

    @property
    def title(self) -> str:
        """The text for the first line."""
        ...

    @property
    def kubectl(self) -> Kubectl:
        """kubectl as administrator; usable after `up`."""
        ...

    @property
    def audit_log(self) -> Path | None:
        """The audit log of the API server; None if it is not accessible."""
        ...

    def up(self, screen: Screen) -> None:
        """Ensure that the cluster runs. Raises DemoError, RigError."""
        ...

    def image(self, screen: Screen) -> Installation:
        """Ensure that the operator image is available. Raises DemoError, RigError."""
        ...

    def access(self, api: Api) -> Access:
        """Return the access to Services and pods."""
        ...

    def environment_lines(self) -> list[str]:
        """Return the shell commands that configure kubectl for the cluster."""
        ...

    def stop_lines(self, namespace: str, cluster: str) -> list[str]:
        """Return the commands that delete what the demo created."""
        ...


@dataclass(frozen=True, slots=True)
class RigEnvironment:
    """One machine, one rig."""

    rig: Rig

    @property
    def title(self) -> str:
        """The name of the rig."""
        return f"on this machine, rig {self.rig.name}"

    @property
    def kubectl(self) -> Kubectl:
        """The kubectl of the rig."""
        return Kubectl(str(self.rig.bin("kubectl")), self.rig.environment())

    @property
    def audit_log(self) -> Path | None:
        """The audit log of the rig."""
        return self.rig.audit_log

    def up(self, screen: Screen) -> None:
        """Start the rig; running components are kept."""
        self.rig.up()
        screen.say(f"kubeconfig {self.rig.kubeconfig}")

    def image(self, screen: Screen) -> Installation:
        """Build the image from the checkout and load it, if it is outdated."""
        reference = self.rig.load_operator_image()
        content = images.digest(self.rig.layout, reference) or ""
        screen.say(f"{reference} {content.removeprefix('sha256:')[:12]}")
        return Installation(reference, "IfNotPresent", OPENBAO_ON_RIG, content)

    def access(self, api: Api) -> Access:
        """Access through the network namespace of the rig."""
        return InsideRig(self.rig, api)

    def environment_lines(self) -> list[str]:
        """Return KUBECONFIG, and PATH for the kubectl of the rig."""
        folder = shlex.quote(str(self.rig.paths.bin))
        return [
            f"export KUBECONFIG={shlex.quote(str(self.rig.kubeconfig))}",
            f'export PATH={folder}:"$PATH"',
        ]

    def stop_lines(self, namespace: str, cluster: str) -> list[str]:
        """The command that removes the rig."""
        return ["make down"]


@dataclass(frozen=True, slots=True)
class ClusterEnvironment:
    """An existing cluster, from KUBECONFIG."""

    installation: Installation

    @property
    def title(self) -> str:
        """The text for an existing cluster."""
        return "on the cluster of your kubeconfig"

    @property
    def kubectl(self) -> Kubectl:
        """The kubectl on PATH, in the current environment."""
        return Kubectl(shutil.which("kubectl") or "kubectl", dict(os.environ))

    @property
    def audit_log(self) -> Path | None:
        """None: not accessible."""
        return None

    def up(self, screen: Screen) -> None:
        """Print the context, and check that the cluster responds."""
        context = self.kubectl("config", "current-context").strip()
        self.kubectl("get", "--raw", "/readyz", "--request-timeout=10s")
        screen.say(f"context {context} responds")

    def image(self, screen: Screen) -> Installation:
        """Use the configured image."""
        if not self.installation.image:
            raise DemoError(
                "set OPERATOR_IMAGE to an operator image that this cluster can pull, "
                "or that its nodes have (docker build . builds it)"
            )
        screen.say(f"{self.installation.image}, pull policy {self.installation.pull_policy}")
        return self.installation

    def access(self, api: Api) -> Access:
        """Access through kubectl port-forward."""
        return PortForward(self.kubectl)

    def environment_lines(self) -> list[str]:
        """Empty: kubectl is already configured."""
        return []

    def stop_lines(self, namespace: str, cluster: str) -> list[str]:
        """The commands that delete the cluster with its data, and then the operator."""
        return [
            f"kubectl -n {namespace} patch openbaocluster {cluster} --type merge "
            """-p '{"spec":{"deletionPolicy":"DeleteAll"}}'""",
            f"kubectl delete namespace {namespace}",
            "kubectl delete -k deploy/overlays/cluster-wide",
        ]
