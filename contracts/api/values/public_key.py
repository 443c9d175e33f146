"""Public keys in PEM, as users write them into a spec.

Uses cryptography. Called by contracts.api.rules.images and by managers.images.
"""

from cryptography.exceptions import InternalError, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey

CURVES = ("secp256r1", "secp384r1", "secp521r1")
"""P-256, P-384 and P-521: the curves that servers and signers know."""
RSA_BITS_MAX = 8192
"""Go takes no larger RSA key in a handshake (CVE-2023-29409), and neither does anything here."""
_RSA_BITS = range(2048, RSA_BITS_MAX + 1)


def read_public_key(pem: str) -> PublicKey:
    """Read one PEM block. Raises ValueError with the reason, which never holds the text itself."""
    if pem.count("-----BEGIN") != 1 or "-----BEGIN PUBLIC KEY-----" not in pem:
        raise ValueError("it is not one PEM block PUBLIC KEY")
    try:
        key = load_pem_public_key(pem.strip().encode())
    except (ValueError, InternalError, UnsupportedAlgorithm):
        raise ValueError("its content is no public key") from None
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in CURVES:
        return key
    if isinstance(key, rsa.RSAPublicKey) and key.key_size in _RSA_BITS:
        return key
    # Not Ed25519: cosign signs with Ed25519ph (RFC 8032, 5.1), which our library cannot check.
    raise ValueError("it is none of ECDSA P-256, P-384, P-521, and RSA of 2048 to 8192 bits")
