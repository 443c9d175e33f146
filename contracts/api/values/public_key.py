"""Public keys in PEM, from a spec.

Uses cryptography. Called by contracts.api.rules.images and by managers.images.
"""

from cryptography.exceptions import InternalError, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey

CURVES = ("secp256r1", "secp384r1", "secp521r1")
"""P-256, P-384 and P-521: the curves that servers and signers support."""
RSA_BITS_MAX = 8192
"""Go rejects larger RSA keys in a handshake (CVE-2023-29409), and so does this module."""
_RSA_BITS = range(2048, RSA_BITS_MAX + 1)


def read_public_key(pem: str) -> PublicKey:
    """Read one PEM block. Raises ValueError with a reason that does not contain the text."""
    if pem.count("-----BEGIN") != 1 or "-----BEGIN PUBLIC KEY-----" not in pem:
        raise ValueError("it is not one PEM block PUBLIC KEY")
    try:
        key = load_pem_public_key(pem.strip().encode())
    except (ValueError, InternalError, UnsupportedAlgorithm):
        raise ValueError("its content is not a public key") from None
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in CURVES:
        return key
    if isinstance(key, rsa.RSAPublicKey) and key.key_size in _RSA_BITS:
        return key
    # Not Ed25519: cosign signs with Ed25519ph (RFC 8032, 5.1), which our library cannot verify.
    raise ValueError("it must be ECDSA P-256, P-384 or P-521, or RSA of 2048 to 8192 bits")
