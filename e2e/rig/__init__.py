"""The rig: a one-node Kubernetes made of real servers, in a network namespace of its own.

May use the standard library, click, cryptography, orjson and pyyaml; never runtime, contracts,
managers or baoctl. Called by the e2e scenarios, the integration tests, the demo and the Makefile.
"""

from e2e.rig.errors import RigError
from e2e.rig.rig import Rig

__all__ = ["Rig", "RigError"]
