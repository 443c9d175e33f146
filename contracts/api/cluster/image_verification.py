"""spec.imageVerification and spec.operatorImageVerification: required signatures of images.

Uses contracts.api.meta. Part of ClusterSpec; both fields have the same type.
"""

from typing import Literal

from pydantic import Field

from contracts.api.meta import ApiModel, SecretReference, as_map

FailurePolicy = Literal["Warn", "Block"]


class ImageVerification(ApiModel):
    """Signature that an image must have before a pod is created with it."""

    enabled: bool = Field(description="Verify the signature, and run the digest that was verified.")
    public_key: str | None = Field(
        default=None,
        description=(
            "Public key of the signer as PEM text (the file cosign.pub): ECDSA P-256, P-384 or "
            "P-521, or RSA of 2048 to 8192 bits."
        ),
        examples=["-----BEGIN PUBLIC KEY-----\nMFkw..."],
        max_length=4096,
    )
    issuer: str | None = Field(
        default=None,
        description="Keyless: exact OIDC issuer of the signer. Requires subject.",
        examples=["https://issuer.example.com"],
        max_length=512,
    )
    subject: str | None = Field(
        default=None,
        description="Keyless: exact identity in the signer's certificate. Requires issuer.",
        examples=["https://git.example.com/image/release.yml@refs/tags/v2.4.0"],
        max_length=1024,
    )
    issuer_reg_exp: str | None = Field(
        default=None,
        alias="issuerRegExp",
        description=(
            "Keyless: RE2 pattern that matches anywhere in the issuer, instead of issuer. Requires "
            "subjectRegExp."
        ),
        examples=["^https://issuer\\.example\\.com$"],
        max_length=512,
    )
    subject_reg_exp: str | None = Field(
        default=None,
        alias="subjectRegExp",
        description="Keyless: RE2 pattern that matches anywhere in the identity, instead of "
        "subject.",
        examples=["^https://git\\.example\\.com/image/.*@refs/tags/v[0-9.]+$"],
        max_length=512,
    )
    failure_policy: FailurePolicy = Field(
        default="Block",
        description=(
            "Handling of a failed verification. Block: running pods remain, and no pod is "
            "created. Warn: the image is used by its tag, with an event and a condition."
        ),
    )
    ignore_tlog: bool = Field(
        default=False,
        description="Do not require an entry in a transparency log. For public keys only.",
    )
    image_pull_secrets: tuple[SecretReference, ...] = Field(
        default=(),
        description=(
            "Secrets with registry credentials (kubernetes.io/dockerconfigjson or dockercfg), used "
            "before spec.imagePullSecrets."
        ),
        max_length=16,
        json_schema_extra=as_map("name"),
    )

    @property
    def keyless(self) -> bool:
        """Whether the spec requires an identity instead of a key."""
        return any((self.issuer, self.subject, self.issuer_reg_exp, self.subject_reg_exp))
