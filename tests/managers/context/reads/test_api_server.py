"""managers.context.reads.api_server.

The issuer of ServiceAccount tokens, and the addresses of the API server.
"""

import base64
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from managers.context.reads.api_server import DISCOVERY, KEYS, MAX_AGE, ApiServer, public_keys
from runtime.builtin_kinds import SERVICE
from runtime.errors import ServerError, Transient
from runtime.testing.clock import ManualClock
from tests import gen
from tests.gen.api import FakeApi, api_error

# RFC 7517, A.1.
RFC_EC = {
    "kty": "EC",
    "crv": "P-256",
    "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
    "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
    "use": "enc",
    "kid": "1",
}
RFC_RSA = {
    "kty": "RSA",
    "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJ"
    "ECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2Qvzqq"
    "Y368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4"
    "lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
    "e": "AQAB",
    "alg": "RS256",
    "kid": "2011-04-29",
}


def number_bytes(number: int, length: int | None = None) -> str:
    size = length or (number.bit_length() + 7) // 8
    return base64.urlsafe_b64encode(number.to_bytes(size, "big")).rstrip(b"=").decode()


def jwk(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> dict[str, str]:
    public = key.public_key()
    if isinstance(public, rsa.RSAPublicKey):
        numbers = public.public_numbers()
        return {"kty": "RSA", "n": number_bytes(numbers.n), "e": number_bytes(numbers.e)}
    curve = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}[public.curve.name]
    size = (public.curve.key_size + 7) // 8
    point = public.public_numbers()
    return {
        "kty": "EC",
        "crv": curve,
        "x": number_bytes(point.x, size),
        "y": number_bytes(point.y, size),
    }


def load_key(pem: str) -> rsa.RSAPublicKey | ec.EllipticCurvePublicKey:
    key = serialization.load_pem_public_key(pem.encode())
    assert isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey)
    return key


def test_the_vectors_of_the_standard() -> None:
    (curve,) = public_keys({"keys": [RFC_EC]})
    (modular,) = public_keys({"keys": [RFC_RSA]})
    point, numbers = load_key(curve).public_numbers(), load_key(modular).public_numbers()
    assert isinstance(point, ec.EllipticCurvePublicNumbers)
    assert isinstance(numbers, rsa.RSAPublicNumbers)
    assert number_bytes(point.x) == RFC_EC["x"]
    assert number_bytes(point.y) == RFC_EC["y"]
    assert number_bytes(numbers.n) == RFC_RSA["n"]
    assert numbers.e == 65537


@pytest.mark.parametrize(
    "key",
    [
        rsa.generate_private_key(65537, 2048),
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP384R1()),
        ec.generate_private_key(ec.SECP521R1()),
    ],
    ids=["RSA", "P-256", "P-384", "P-521"],
)
def test_a_key_comes_back_as_it_was(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> None:
    (pem,) = public_keys({"keys": [jwk(key)]})
    assert load_key(pem).public_numbers() == key.public_key().public_numbers()


# sentence: (key set, number of keys)
SETS: dict[str, tuple[dict[str, Any], int]] = {
    "no keys": ({"keys": []}, 0),
    "no list of keys": ({}, 0),
    "a null list": ({"keys": None}, 0),
    "a kind that we do not know": ({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AA"}]}, 0),
    "a curve that we do not know": ({"keys": [{**RFC_EC, "crv": "secp256k1"}]}, 0),
    "a shared secret": ({"keys": [{"kty": "oct", "k": "AA"}]}, 0),
    "a known one beside an unknown one": ({"keys": [{"kty": "OKP"}, RFC_EC]}, 1),
    "both kinds": ({"keys": [RFC_EC, RFC_RSA]}, 2),
}


@pytest.mark.parametrize(("key_set", "count"), SETS.values(), ids=SETS.keys())
def test_key_set(key_set: dict[str, Any], count: int) -> None:
    assert len(public_keys(key_set)) == count


def test_the_order_of_the_keys_does_not_matter() -> None:
    assert public_keys({"keys": [RFC_EC, RFC_RSA]}) == public_keys({"keys": [RFC_RSA, RFC_EC]})


def api() -> FakeApi:
    fake_api = FakeApi()
    # The advertised URL is elsewhere, and is never opened.
    fake_api.raw[DISCOVERY] = {
        "issuer": "https://issuer.example.com",
        "jwks_uri": "https://elsewhere.example.com/keys",
    }
    fake_api.raw[KEYS] = {"keys": [RFC_EC]}
    return fake_api


class TestIssuer:
    async def test_the_issuer_is_read_from_fixed_paths_and_cached(self) -> None:
        server, clock = api(), ManualClock()
        asker = ApiServer(server, clock, None)
        token_issuer = gen.present(await asker.token_issuer())
        assert token_issuer.issuer == "https://issuer.example.com"
        assert token_issuer.public_keys == public_keys({"keys": [RFC_EC]})
        assert server.take_requests() == [f"get path {DISCOVERY}", f"get path {KEYS}"]
        await clock.advance(MAX_AGE - 1)
        assert await asker.token_issuer() == token_issuer
        assert server.take_requests() == []
        await clock.advance(1)
        server.raw[KEYS] = {"keys": [RFC_RSA]}
        assert gen.present(await asker.token_issuer()).public_keys != token_issuer.public_keys

    async def test_b29_a_failure_at_the_start_is_retried(self) -> None:
        """Neither a refusal nor an outage is cached: the next caller reads the issuer again."""
        server = api()
        asker = ApiServer(server, ManualClock(), None)
        for code in (401, 403, 404):
            server.refuse(f"get path {KEYS}", api_error(code))
            assert await asker.token_issuer() is None
        for code in (429, 500, 503):
            server.refuse(f"get path {DISCOVERY}", api_error(code))
            with pytest.raises(Transient):
                await asker.token_issuer()
        assert await asker.token_issuer() is not None
        # Only outside clients may reach the URL that the server advertises.
        assert not any("elsewhere" in request for request in server.take_requests())


def kubernetes(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kubernetes", "namespace": "default"},
        "spec": spec,
    }


class TestHosts:
    async def test_the_address_in_the_environment_needs_no_request(self) -> None:
        server = FakeApi()
        assert await ApiServer(server, ManualClock(), "10.0.0.1").hosts() == ("10.0.0.1",)
        assert server.take_requests() == []

    async def test_without_it_the_service_is_read_once(self) -> None:
        server = FakeApi().with_objects((SERVICE, kubernetes(clusterIPs=["10.96.0.1", "fd00::1"])))
        asker = ApiServer(server, ManualClock(), None)
        assert await asker.hosts() == ("10.96.0.1", "fd00::1")
        assert await asker.hosts() == ("10.96.0.1", "fd00::1")
        assert server.take_requests() == ["get Service kubernetes"]

    async def test_a_name_in_the_environment_is_no_address(self) -> None:
        """Some platforms set the name of a load balancer; a policy accepts only addresses."""
        server = FakeApi().with_objects((SERVICE, kubernetes(clusterIPs=["10.96.0.1"])))
        asker = ApiServer(server, ManualClock(), "api.example.com")
        assert await asker.hosts() == ("10.96.0.1",)

    async def test_a_service_without_addresses_has_none(self) -> None:
        server = FakeApi().with_objects((SERVICE, kubernetes()))
        assert await ApiServer(server, ManualClock(), None).hosts() == ()

    @pytest.mark.parametrize("code", [401, 403, 404])
    async def test_an_unreadable_service_is_unknown(self, code: int) -> None:
        """A condition reports it; the rest of the cluster needs no address."""
        server = FakeApi()
        server.refuse("get Service kubernetes", api_error(code))
        asker = ApiServer(server, ManualClock(), None)
        assert await asker.hosts() == ()
        assert await asker.hosts() == ()
        assert server.take_requests() == ["get Service kubernetes"]

    async def test_an_outage_before_the_first_read_is_an_error(self) -> None:
        server = FakeApi()
        server.refuse("get Service kubernetes", api_error(500))
        with pytest.raises(ServerError):
            await ApiServer(server, ManualClock(), None).hosts()
