"""runtime.limits.tls: what the contexts accept."""

import ssl

from runtime.limits.tls import CIPHERS


def test_the_server_cannot_choose_the_group_of_a_key_exchange() -> None:
    """With DHE of TLS 1.2 it does, and the client computes for a second with 10,000 bits."""
    context = ssl.create_default_context()
    usual = {cipher["name"] for cipher in context.get_ciphers()}
    context.set_ciphers(CIPHERS)
    left = {cipher["name"] for cipher in context.get_ciphers()}
    assert {name for name in usual - left if not name.startswith("DHE-")} == set()
    assert not any(name.startswith("DHE-") for name in left)
    assert {"ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_AES_128_GCM_SHA256"} <= left
