"""The default names of the operator's namespace and ServiceAccounts.

The manifests of deploy/ contain these names. The command line imports them at start-up, so this
module imports nothing: the rights of the ServiceAccounts are in contracts.installation.
"""

from __future__ import annotations

from typing import Final

NAMESPACE: Final = "openbao-operator-system"
CONTROLLER: Final = "openbao-operator-controller"
PROVISIONER: Final = "openbao-operator-provisioner"
DELEGATE: Final = "openbao-operator-provisioner-delegate"
