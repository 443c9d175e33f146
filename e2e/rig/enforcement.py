"""Enforces NetworkPolicies in the network namespace of a rig, for scenarios that request it.

The policy controller of kube-router writes them as iptables rules and ipsets.
Bridged packets pass these rules (br_netfilter), so they apply between pods of one node too. Rules
see a packet after the translation of Service addresses. As Kubernetes requires, traffic from
addresses of the node itself is exempt; packets of the host arrive from outside of the node.
"""

import subprocess
import time

from e2e.rig import binaries, builds, components, packages
from e2e.rig.errors import RigError
from e2e.rig.layout import Layout
from e2e.rig.network import bridge_filter_works
from e2e.rig.paths import Cache
from e2e.rig.processes import ProcessTable
from e2e.rig.progress import Progress
from e2e.rig.versions import KUBE_ROUTER_SERVER

_CHAIN = "KUBE-ROUTER-FORWARD"
# kube-router appends this comment to its chains after it has written the rules of all pods.
_WHOLE = "comply to network policies"
_START_SECONDS = 60.0
# It removes its rules before it exits.
_GRACE = 20.0


def start(cache: Cache, layout: Layout, table: ProcessTable, progress: Progress) -> None:
    """Start it, and wait until the current policies are enforced. Raises RigError."""
    if not bridge_filter_works():
        raise RigError("this kernel has no br_netfilter: rules would not see bridged packets")
    packages.ensure(packages.ENFORCER, progress)
    (binary,) = builds.build(cache, (KUBE_ROUTER_SERVER,), progress)
    binaries.link(layout, components.ENFORCER, binary)
    name = components.ENFORCER
    table.start(name, components.command(layout, name))
    until = time.monotonic() + _START_SECONDS
    while _WHOLE not in rules(layout):
        if table.running(name) is None:
            raise RigError(f"{name} has exited, see {table.log(name)}")
        if time.monotonic() > until:
            raise RigError(f"{name} has no rules, see {table.log(name)}")
        time.sleep(0.05)
    progress("NetworkPolicies are enforced")


def stop(layout: Layout, table: ProcessTable, progress: Progress) -> None:
    """Stop it; it removes its rules. Raises RigError if some are left."""
    table.stop([components.ENFORCER], _GRACE)
    if left := rules(layout):
        raise RigError(f"{components.ENFORCER} left rules: {left[-500:]}")
    progress("NetworkPolicies are no longer enforced")


def rules(layout: Layout) -> str:
    """Return the rules of kube-router for forwarded packets; "" if there are none."""
    listing = layout.inside("iptables", "--wait", "--list-rules", _CHAIN)
    return subprocess.run(listing, capture_output=True, text=True, check=False).stdout
