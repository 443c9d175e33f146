"""Enforces NetworkPolicies in the network namespace of a rig, for scenarios that ask for it.

The policy controller of kube-router writes iptables rules and ipsets of the kernel from them.
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
# What kube-router appends to its chains once the rules of all pods are in place.
_WHOLE = "comply to network policies"
_START_SECONDS = 60.0
# It takes its rules away before it ends.
_GRACE = 20.0


def start(cache: Cache, layout: Layout, table: ProcessTable, progress: Progress) -> None:
    """Start it, and return when the present policies are enforced. Raises RigError."""
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
            raise RigError(f"{name} has ended, see {table.log(name)}")
        if time.monotonic() > until:
            raise RigError(f"{name} enforces nothing, see {table.log(name)}")
        time.sleep(0.05)
    progress("NetworkPolicies are enforced")


def stop(layout: Layout, table: ProcessTable, progress: Progress) -> None:
    """Stop it; it removes its rules. Raises RigError if some are left."""
    table.stop([components.ENFORCER], _GRACE)
    if left := rules(layout):
        raise RigError(f"{components.ENFORCER} left rules: {left[-500:]}")
    progress("NetworkPolicies are no longer enforced")


def rules(layout: Layout) -> str:
    """Return the rules that every forwarded packet passes first; "" while there are none."""
    listing = layout.inside("iptables", "--wait", "--list-rules", _CHAIN)
    return subprocess.run(listing, capture_output=True, text=True, check=False).stdout
