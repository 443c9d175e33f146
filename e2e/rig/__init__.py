"""The rig: a one-node Kubernetes cluster of real servers in its own network namespace.

May use the standard library, click, cryptography, orjson and pyyaml; never runtime, contracts,
managers or baoctl. Called by the e2e scenarios, the integration tests, the demo and the Makefile.
"""

from e2e.rig.errors import RigError
from e2e.rig.rig import Rig

__all__ = ["Rig", "RigError"]
