"""The names of the Secrets that a cluster uses. Pure.

Called by managers.cluster.observe.observer, and by baoctl.commands.assumed, which reads no Secret.
"""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.naming import names
from managers.bootstrap.seal.keys import unseal_secrets


def secret_names(cluster: OpenBaoCluster, ring: str = "") -> tuple[tuple[str, bool], ...]:
    """Name the Secrets that a cluster uses, and whether their content is read.

    `ring`: the keys of the static seal that the pod template names.
    """
    name = cluster.metadata.name
    supplied = cluster.spec.unseal.secret_name is not None
    secrets = [(secret, supplied) for secret in unseal_secrets(name, cluster.spec.unseal, ring)]
    if not cluster.spec.self_initializes:
        secrets.append((names.root_token_secret(name), False))
    return tuple(secrets)
