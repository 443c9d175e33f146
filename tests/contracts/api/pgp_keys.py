"""OpenPGP public keys of every kind, made by gpg 2.2.40; nobody has their private halves any more.

Each was made in a folder of its own with

    gpg --batch --pinentry-mode loopback --passphrase '' --faked-system-time 20261124T120000! ...

and the commands beside it, then `--no-emit-version --export | base64 -w0`. MADE is that moment.
`--edit-key` revoked the subkey, and the import of the file of openpgp-revocs.d the key.
"""

MADE = 1795521600
MONTH = 30 * 24 * 3600

# --quick-generate-key ... rsa2048 sign,encr,cert never: one key for everything.
LONE_RSA = (
    "mQENBGsFfEABCAC2fzBmPAmB5nPVeSy7p7YgSc4W7zo0Lh5oMR/hr0D8yh7G/DXQDZahaRmdEz5yKZiXEFPLhsl6pl"
    "sb5aGwy8mGx+vBE1K23j1xX6s12APXWHPdPuTJ2u07Uut2M4v9IdyG0XyMi6Zl4vxt/CWb8/+sPVCknFEcE3pfMnjl"
    "5S7qpu2URcqvc8Z3nr49aLicsimvwkoZUK/pb5RNpeenx5LzGeBPJ77NG5oCjhHQtVDejP+VArh0jAzUinSbtg58RQ"
    "UWRL6Tqneod6y6gKlntrW4fYVg0eAcup9MCvuZnqnNvcDbhv/9fMkcl7qff4Ps2Gc2vDwjqM66MzWqbq1zNpfPABEB"
    "AAG0FVJzYSA8cnNhQGV4YW1wbGUuY29tPokBTgQTAQoAOBYhBAYPwu+EgrbV/QDLTFT0uQ+vANyhBQJrBXxAAhsPBQ"
    "sJCAcCBhUKCQgLAgQWAgMBAh4BAheAAAoJEFT0uQ+vANyhBUUIAIGpn7lvGFn5hUsZo5xsxnZz4d7mzwUNSoBvErPg"
    "9T6AYxlBu6R0j9JrEPu6H8b59DODS1BU0q6LXCWDpC70i2D4DHUnedCNp19C9YmweHXNPUHl6XQHwaY4hGQBGesvJ/"
    "PRk/HzCHaN3WZGUfQhP5TgwgLZGZ+62iO1H5dfY+52eCFLe3ij6+IicCXEi1puaVQpyzw1lAogu0M6wMCIAprBJBkJ"
    "vwogxr3sGxB99kYp8TFwiw2cX95DmyGRYlmK2rZDl1t8KwDoAj5cLPGjieOhNz3oEUmhXR9p5vFIjDn1/zGKkbj065"
    "+TuT/IwE4yCM29IM8tPax1y7ugjxm/bCk="
)

# ed25519 sign never; --quick-add-key ... rsa1024 sign never: RSA could encrypt, it may not.
SIGNING_RSA_SUBKEY = (
    "mDMEawV8QBYJKwYBBAHaRw8BAQdAbyh/6w7VSqpSKysEmgWn83/xbTZFWzAL7enKcqsYa3a0GVNpZ25zIDxzaWduc0"
    "BleGFtcGxlLmNvbT6IkAQTFggAOBYhBBt1791qSx4yoadvQaaBWTle6jqdBQJrBXxAAhsDBQsJCAcCBhUKCQgLAgQW"
    "AgMBAh4BAheAAAoJEKaBWTle6jqdJfUA/32l7THtnAXmckqIJWf406B/jkRJBD+rGyYYzz0KqUQqAQDECOLkB36SjB"
    "kL2SyuLE+k5plLeXtfPWv4fADaYmMfDriNBGsFfEABBADltUD1eAinkz/lkXs1duYHBjSOe3nFMAel5/9XCfpvbnBd"
    "o2tBL+zVaxp2727aVni/ZHeDXzaQfFIxuCDlTASLEbKjNZyo6fu7wR+KAkKLWh+molUQHWiU9kUO6zl7l6dq+Q/p0d"
    "yv4gq5KU7MdOypKyMn6tFBFzTevzJOZCEq8QARAQABiQEtBBgWCAAgFiEEG3Xv3WpLHjKhp29BpoFZOV7qOp0FAmsF"
    "fEACGwIAvwkQpoFZOV7qOp20IAQZAQoAHRYhBMCWEQ/3xIAs52Afu46PQ9zfw8YHBQJrBXxAAAoJEI6PQ9zfw8YHDA"
    "8D/iXICBMjDs6ANVyFlwJkjfmMOY+ygpS5H5RiXdtGuHRtdgseVpCRCoiwilNWQxQtcS2tA8Bj92cMO3iFEo2vCA+V"
    "bQR3eRkYGu1MhNWp88Pd2g/SbcbeXnZmxAuU61MQypCiYAKQ7nKcH+uh7O/Gip87Ox7mzJJukJDe1sN84zWWxukBAN"
    "CaPBJhROCzQNz4zapYHjt7cisQNbWJmnMJnN0N3IPrAP9FrtALop5bf+LPo3m4zy9mGxVCsx3Q1I33zmUBhMe4Cg=="
)

# ed25519 sign never; --quick-add-key ... cv25519 encr 30d.
EXPIRING_SUBKEY = (
    "mDMEawV8QBYJKwYBBAHaRw8BAQdAn/ddemuzyOjGmoKnkVwr7cFQpl5HNp7UvWWxNUYJgUG0F0xhdGUgPGxhdGVAZX"
    "hhbXBsZS5jb20+iJAEExYIADgWIQSChFTUuWXR7bLcD1lg+lSh1Y3hYQUCawV8QAIbAwULCQgHAgYVCgkICwIEFgID"
    "AQIeAQIXgAAKCRBg+lSh1Y3hYTIIAP0Rv13Fz8aF1nntMHmcqAZ6tfedvJwtZTyXeyYYSHc0dQD/dEghej7htEvoPS"
    "Yv5S9+XAIq12YfDDyf1rFBOUZQpgq4OARrBXxAEgorBgEEAZdVAQUBAQdA1cv6L3B7Mu6CHA1L9krj8GSbUeVghJ0+"
    "YOF6UwvmCxADAQgHiH4EGBYIACYWIQSChFTUuWXR7bLcD1lg+lSh1Y3hYQUCawV8QAIbDAUJACeNAAAKCRBg+lSh1Y"
    "3hYeRpAP9izTYmX4NE0YknQPAV6YT8VDXwdsN66qs8v7q97Q+xoQD/bsFV6LiB1vbu3vCoaH5UgB53/VfoI63iLHEC"
    "Pg9evgQ="
)

# ed25519 sign 30d; --quick-add-key ... cv25519 encr never.
EXPIRING_KEY = (
    "mDMEawV8QBYJKwYBBAHaRw8BAQdAPwCVuxYzMUBOif3sdZkQab+b3/rWhv2LW86Fm0ThVZW0FU9sZCA8b2xkQGV4YW"
    "1wbGUuY29tPoiWBBMWCAA+FiEEXWp3f/NweF/ZtqHFr8VF0fAYx/wFAmsFfEACGwMFCQAnjQAFCwkIBwIGFQoJCAsC"
    "BBYCAwECHgECF4AACgkQr8VF0fAYx/zd1wD9H8UNUE4ctPp99C4Ga05coh1SMtuXSwhPCGZPf5qQqkEBAMU6+RNAHJ"
    "LKTBR+7DGfE/yj52tTxErLiRLNICEqubkKuDgEawV8QBIKKwYBBAGXVQEFAQEHQErpPiUp9xZzOtdeO7Aj/3Nm05cr"
    "emy0k2o0c6cXjWUJAwEIB4h4BBgWCAAgFiEEXWp3f/NweF/ZtqHFr8VF0fAYx/wFAmsFfEACGwwACgkQr8VF0fAYx/"
    "xNDwD/U2Y3n3gkY8+Bo1ZwpLRX9HdCVKEZ6F7rdMLEsb8NF9ABALqI7bWCbwcHFi8ZN7Tl5pxhEHgqdFSHujovlh7P"
    "Bv4K"
)

# ed25519 sign never; --quick-add-key ... cv25519 encr never; that one revoked.
REVOKED_SUBKEY = (
    "mDMEawV8QBYJKwYBBAHaRw8BAQdAwvZdZONCnFWVDcSPXTwul8sdTi1XvY/sLhzSKgv45EG0FVJldiA8cmV2QGV4YW"
    "1wbGUuY29tPoiQBBMWCAA4FiEE3dtO9bZmSME0P+OCBnV+XR7MTQUFAmsFfEACGwMFCwkIBwIGFQoJCAsCBBYCAwEC"
    "HgECF4AACgkQBnV+XR7MTQVITwD6Aiy+chVcD7eTT0DBfZYaxuv9VCpcQvC9jIv9AAv1VYoBAL7KP4DZJfz7Do0RR7"
    "66dLC2zX0otQQlRb/eXWK4UM0BuDgEawV8QBIKKwYBBAGXVQEFAQEHQLJusjwy4m5geuuT9xw6uGv6+gstXymDJ80a"
    "lR7VpEFgAwEIB4h4BCgWCAAgFiEE3dtO9bZmSME0P+OCBnV+XR7MTQUFAmsFfEACHQAACgkQBnV+XR7MTQXmwQD+NT"
    "STWVe1BJbp6CNlNp/0aQjdQsihROMm5pqzjxL8YX8A/R/0dZSR0ABnaf+9qcDpVM41v71vYkIb/Mw8uvBjA1EEiHgE"
    "GBYIACAWIQTd2071tmZIwTQ/44IGdX5dHsxNBQUCawV8QAIbDAAKCRAGdX5dHsxNBc/tAP42u7NTWDIs+VXz2Mr+RZ"
    "mogxOVpJ0/yIw1jepSmsVcfwEA3+ZMYr+J9bAtGperuEN6x8m0+Iq58+90EDmF1kKrawk="
)

# The same, and the key itself revoked.
REVOKED_KEY = (
    "mDMEawV8QBYJKwYBBAHaRw8BAQdAP0kJ3xlh9Dui8ZCVodk0wty9ZjQdvykZzzM81ZUUOESIeAQgFggAIBYhBIlwQ1"
    "R9CEzBYutWTNkhnPZS7rPjBQJrBXxAAh0AAAoJENkhnPZS7rPjIKUBALn0foj5B++8ZRmIKMMNT0h8pQEHArlWo60a"
    "hmN/7tb2AQDkjfxvJzJy4lXhiQ2Qzvu47+fdhGSPqq6xTaGRCEdADrQXR29uZSA8Z29uZUBleGFtcGxlLmNvbT6IkA"
    "QTFggAOBYhBIlwQ1R9CEzBYutWTNkhnPZS7rPjBQJrBXxAAhsDBQsJCAcCBhUKCQgLAgQWAgMBAh4BAheAAAoJENkh"
    "nPZS7rPjMKIBAJEw585iom304tJ6v0W2o7i6jB6zs5gtJBriP0qqXiGdAPwK0O6NBPqrU6Mjv4eZ55azVmerwhzC8P"
    "ll5W6XCcKmDrg4BGsFfEASCisGAQQBl1UBBQEBB0DKQaAczyU2wnVFv6KDP6HuFm7QXe/3AyNGlCe+60OcCgMBCAeI"
    "eAQYFggAIBYhBIlwQ1R9CEzBYutWTNkhnPZS7rPjBQJrBXxAAhsMAAoJENkhnPZS7rPjp+gBAKPWUmyal10c2GRlC1"
    "1Qd5UcVk11HdmifA83jfXoK7HhAQC9r20N3EsS8jgKzRs9oXNGmw6So/oOC459xI/ljib3DA=="
)

# nistp256 sign never; --quick-add-key ... nistp256 encr never.
NIST = (
    "mFIEawV8QBMIKoZIzj0DAQcCAwSezTRq3MkhKWSX2Fu82HQM4PzM+G8XZrI06M+DMGvZ60UYXbUo6ANCaK4bZRScvJ"
    "4ZlbRoYUMKyJiaARwbBf4itBdOaXN0IDxuaXN0QGV4YW1wbGUuY29tPoiQBBMTCAA4FiEEWU3SiKbB93fTDcA9QFd1"
    "WRQhOF4FAmsFfEACGwMFCwkIBwIGFQoJCAsCBBYCAwECHgECF4AACgkQQFd1WRQhOF4f/AD8CUwu3q59bx6kr+3UIb"
    "i2UXVXYE06sf5vUBKRyhqHkGUA/iiCCt3RjDlyt3A/1mj09ltwOr23i8DV5R8/dyAjsExauFYEawV8QBIIKoZIzj0D"
    "AQcCAwR6/ERYMProYPt2z/KrIBck139ohrUHoYpKZESLzT9D0Vlt0WA93+RJC5os6ChGKucc/3t6x2cs1w9gREIpHP"
    "RhAwEIB4h4BBgTCAAgFiEEWU3SiKbB93fTDcA9QFd1WRQhOF4FAmsFfEACGwwACgkQQFd1WRQhOF6ezQD/WxxZOBwR"
    "k7ujRHTpSR5ur4cLwvzWvU4A6KcRj5y7sGYBANxMgQrsZS7wo8J3msZj0aHDrJpwwqPty3ji0D4pt85s"
)

# dsa1024 sign never; --quick-add-key ... elg1024 encr never.
DSA_ELGAMAL = (
    "mQGiBGsFfEARBACFA1xwJBr/lkm+yXahMJJKI3SkC+V+AvQPkBBuafIeaEUyOze+CsSWmeCUbbliWOfkmQUsgTkHur"
    "9isxP4o5185hVILgbN8vIdyY9MS8tFxa10jIhhtUuSF5SyODfibNkNliGMl27Dr1Lh01+FO8CbeoT8GSe9jNbHJ4uU"
    "RNPScwCgpvx5i5xBEe+ixsAZ6ci7GA7L7dsD/3o5OGmVPqLKZZ3lAba/Gy8BEzOnvw0vryh2LwnZs8LMVoLwybnnAQ"
    "eQxlBeF6M3muB2PYJSj2siD1Oyp+BdzikzxrlZ7aGjIBqVecswrPBn7d1WMQEit4PCz2KaX1f0hGIIjvFVr1LPB8Rn"
    "Ywpem35SShorodnYDmNLGKksxk2EA/wOq60yZYnNq1PXdMsOQ2R57uWhTOnBvnKIb1LiwkkkxRcK84X7ttHvU5VxpU"
    "g08nUp/vTHWEPaYHwyePyK95tJT1YBk4jRcpdXAz2qardmDxAdWuEfn50y2QYlFpCvYWTlbC7gCO7VT0FrUkfuJGYz"
    "naAp+9U4GkXOJfOBBiAaNbQVRHNhIDxkc2FAZXhhbXBsZS5jb20+iHgEExECADgWIQQYfjJT6wOqU0X+JM77Tltzol"
    "XZHAUCawV8QAIbAwULCQgHAgYVCgkICwIEFgIDAQIeAQIXgAAKCRD7TltzolXZHHLHAJ9O5I53tqppI76dLH3xN+o8"
    "8QgGcACeNczwAUXziONMHRC9yGtyK8yOTlW5AQ0EawV8QBAEAIlsvVN9xbX2IvXj843erUj3Zuliqj2RmYBYxrK8nC"
    "fevmvXeQ1RTJSpkO8w1paHbYnjEJHTnyb7J7uyXe+r8kTBB/8TWpT51DsPg/2Ev5Bk2rSH3m/VWrB66aqKQOx3NqDz"
    "0BeVlslqlmk7vnh/qZsGONRxhG6z1SHzi4RliHYbAAMFA/9iLUVTDX9q310pvNdOZz689GUZqKG9Gowgy9XmHIuIbp"
    "StOr2eP4OztBrcurPyn5jKQBPp7+l2eBRsLbWAyUdF/roiljdQtIYz2iHUzaydZoVD9SQUpAjufqbOw6yeOsCu3mz8"
    "yxU4aPydQWmBwVZiYqNR/szP7wrdSHEp9O+gpYhgBBgRAgAgFiEEGH4yU+sDqlNF/iTO+05bc6JV2RwFAmsFfEACGw"
    "wACgkQ+05bc6JV2RzFkACggv6dglytHAAGssNiffyj44cA2IMAn2Si7Ln7lZ3c0hDQsPDg7Xzx4E/a"
)

# ed25519 and cv25519; --quick-add-uid; -u <another key> --quick-sign-key.
TWO_USER_IDS = (
    "mDMEawV8QBYJKwYBBAHaRw8BAQdACuNjj+droaEHJnc0gf2oI6rSgK//YemSwCBICRAjFJm0GFR3byA8c2Vjb25kQG"
    "V4YW1wbGUuY29tPoiQBBMWCAA4FiEEqqpAotZ+uPsrNYSjWallB5HRvNkFAmsFfEACGwMFCwkIBwIGFQoJCAsCBBYC"
    "AwECHgECF4AACgkQWallB5HRvNkezQD/YLg2F17hNkfBhip/WQO2Whef40swa43twmNUTW9IP1AA/i2DHxl2F5yEZN"
    "eYJIDSWAy9S+AIaY+hEpQ2/t5E2ekJiQEzBBABCgAdFiEEBg/C74SCttX9AMtMVPS5D68A3KEFAmsFfEAACgkQVPS5"
    "D68A3KFFYQf8CP++9o/WYNCE5zhkhJ78pxmFw3//ms0+e0oqPpMjbE3p7OqXRlkm20Tnl58ilw4OeQZoGhaka8+ec9"
    "x5FoAE1LkF2wgzBlNwK76WNAcslDs9u0Zwc5pwWXLRgm97xYGkZ2Ts8I5PAku9oiow+94YhiJdlM7UAgXYoFscvhqX"
    "k3ly2pxL7nOfedGayeD5HXkq/E0kE2uViwuX3KUcDmE2pIGpATwmP0lsbP9CmMKl7edFUF84q3S7qjvQH7Rv5ojsKg"
    "lZq5SQ60kmfTo/6hY70dw11lq9cvH4+L3uELLLkspG2GHoQb1Gm8tPFLD83tBtfJ0W7AOrmNioJXocnlZE1rQVVHdv"
    "IDx0d29AZXhhbXBsZS5jb20+iJAEExYIADgWIQSqqkCi1n64+ys1hKNZqWUHkdG82QUCawV8QAIbAwULCQgHAgYVCg"
    "kICwIEFgIDAQIeAQIXgAAKCRBZqWUHkdG82XV1AQCDW4VR6XNGM+MQ5AcoPYCQKG0dMvCfVxgiYmJSFAxy0QD+Ip8Z"
    "ARStKnj9p2auZKdzuKQkFNiUX8/gsV5VgKPyYQOJATMEEAEKAB0WIQQGD8LvhIK21f0Ay0xU9LkPrwDcoQUCawV8QA"
    "AKCRBU9LkPrwDcobRYB/4m326yzNUqgjqCH6ZQFJiBr4dypvdIjyl3ncfMjNBrQHVmMBFvJbvTZzcE/D/zckZ2s3Yg"
    "ER+GWdVVIj/EIqcSDxDsWJGAx+uhqcyE4Hpyoign6sPFLlm5NgAu4LIGXlppFoGh41JThQmBjcDf2DuMZPmny3r0wm"
    "nYVW88m9ClO1hivEjuLGaJCYy5AoOlqj6cNH7IhkMGWRvmPgZo91Y5pS/w7Hh+fG00lh57348hor+GFPy9paknKUik"
    "ASe6Cz2UCK8r2F6ancqQKhIxO9cCXfzsQs6sglANnai5sSWDdI7hBW0CzISrojtGDgfZ6e3Nc7K9gxThv1KFf5Y3C+"
    "uouDgEawV8QBIKKwYBBAGXVQEFAQEHQAoJESanhDAcypo6C1JZ/Ml6J9GSRTNIimu950z+7nVIAwEIB4h4BBgWCAAg"
    "FiEEqqpAotZ+uPsrNYSjWallB5HRvNkFAmsFfEACGwwACgkQWallB5HRvNmFQAD6A5JHC9RmocGs4+S5mimoZXe+vR"
    "9AF6zEqED62dWe8KQA/AlhRKnN++aQW84mhlsYOQF31BZ546RUrlpriHrVAlsD"
)

# Fingerprint, and id of the part that go-crypto 1.3.0 and 1.4.1 encrypt to at MADE.
GOOD: dict[str, tuple[str, str, str]] = {
    "one RSA key for everything": (
        LONE_RSA, "060fc2ef8482b6d5fd00cb4c54f4b90faf00dca1", "54F4B90FAF00DCA1",
    ),
    "a subkey that expires": (
        EXPIRING_SUBKEY, "828454d4b965d1edb2dc0f5960fa54a1d58de161", "2D0BDC3804F5463D",
    ),
    "a key that expires": (
        EXPIRING_KEY, "5d6a777ff370785fd9b6a1c5afc545d1f018c7fc", "6810CA0AA661E549",
    ),
    "curves of NIST": (NIST, "594dd288a6c1f777d30dc03d405775591421385e", "0B03E24EDCA5E9E4"),
    "DSA and Elgamal": (
        DSA_ELGAMAL, "187e3253eb03aa5345fe24cefb4e5b73a255d91c", "09C4DC7859701565",
    ),
    "two user IDs with foreign signatures": (
        TWO_USER_IDS, "aaaa40a2d67eb8fb2b3584a359a9650791d1bcd9", "BD917C3070D5E1FE",
    ),
}  # fmt: skip
# The message of the refusal; go-crypto reports "no valid encryption key" for each.
BAD: dict[str, tuple[str, str]] = {
    "an RSA subkey that may only sign": (
        SIGNING_RSA_SUBKEY,
        "subkey 8E8F43DCDFC3C607 of A68159395EEA3A9D has key flags 0x02 without 0x04",
    ),
    "a revoked subkey": (REVOKED_SUBKEY, "subkey 6863C14AFE305F02 of 06757E5D1ECC4D05 is revoked"),
    "a revoked key": (REVOKED_KEY, "key D9219CF652EEB3E3 is revoked"),
}
