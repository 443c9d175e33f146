"""What is true of this installation of the operator, whatever cluster it looks at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Installation:
    """Frozen settings; read from flags and environment by `baoctl.settings`."""

    namespace: str
    """Where the operator itself runs."""
    service_account: str
    """As whom it runs; the name in the login that it sets up in OpenBao."""
    image_repository: str
    """Repository of the server image; a cluster's version is the tag."""
    secret_recheck: float
    """Seconds between two looks at a Secret that nobody watches."""
    operator_image: str = ""
    """Image of the operator itself, for what it runs beside a server; "" when it is not known."""
    audience: str = "openbao-internal"
    """Audience of the tokens with which the operator and its jobs log in to OpenBao."""

    @property
    def subject(self) -> str:
        """The operator as the `sub` of a ServiceAccount token."""
        return f"system:serviceaccount:{self.namespace}:{self.service_account}"
