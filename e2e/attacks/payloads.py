"""Injection payloads, and host names that impersonate other hosts. Pure."""

TEXTS: tuple[str, ...] = (
    # Paths.
    "../../etc/passwd",
    "..",
    ".",
    "/",
    "//",
    "/etc/bao/unseal/key",
    "/proc/self/environ",
    "/openbao/logs/../../bao/data/vault.db",
    "a/../../b",
    "a/./b",
    "a\\..\\b",
    "%2e%2e%2f",
    "%252e%252e%252f",
    "..%c0%af",
    "file:///etc/passwd",
    "~root",
    # Names.
    "kube-system/admin",
    "UPPER",
    "under_score",
    "-a",
    "a-",
    ".a",
    "a.",
    "a..b",
    "a b",
    "",
    " ",
    "a" * 300,
    "a" * 5000,
    "1" * 64,
    "victim-unseal-key",
    "victim-root-token",
    "victim-tls-ca",
    "victim.2-unseal-key",
    "default",
    # Line breaks and control characters.
    "a\nb: c",
    "a\r\nX-Vault-Token: t",
    "a\tb",
    "a\x00b",
    "\x1b[31mred",
    "\x7f",
    "\u2028next",
    '{"level":"error","msg":"forged"}\n',
    # Languages: HCL, shells, templates, Go.
    '"\n}\nstorage "file" { path = "/x" }\n"',
    "${HOSTNAME}",
    "%{ if true }",
    "<<EOF\nx\nEOF\n",
    "/* comment */",
    "$(id)",
    "`id`",
    "; rm -rf /",
    "| cat /etc/bao/unseal/key",
    "{{ .Values }}",
    "$(POD_NAME)",
    # Lookalike letters, and bidirectional characters.
    "\u201cquotes\u201d",
    "\uff0e\uff0e/",
    "\u202egnp.exe",
    "\ufeffx",
    "\u0430dmin",
    "\U0001f600",
)
"""Sixty texts, for every text field of a spec."""

_LOOPBACK = (
    "localhost", "LOCALHOST", "localhost.", "localhost:8200", "a.localhost", "a.LocalHost.",
    "127.0.0.1", "127.0.0.1:6443", "127.1", "127.0.1", "127.255.255.254", "127.0.0.1.",
    "2130706433", "2130706433:80", "0x7f000001", "0X7F000001", "0x7f.0.0.1", "0x7f.1",
    "0177.0.0.1", "017700000001", "0177.1", "00000177.0.0.1", "127.000.000.001",
    "0", "0.0.0.0", "0.0.0.0:443", "00", "0x0", "0.0",  # noqa: S104  nothing is bound
    "[::]", "[::1]", "[::1]:8200", "[0:0:0:0:0:0:0:1]", "[0000::1]", "[::127.0.0.1]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:1]", "[::FFFF:127.0.0.1]",
)  # fmt: skip
_LINK = (
    "169.254.169.254", "169.254.169.254:80", "169.254.0.1", "169.254.169.254.",
    "2852039166", "0xa9fea9fe", "0xa9.0xfe.0xa9.0xfe", "0251.0376.0251.0376", "169.254.43518",
    "169.16689662", "425.510.425.510", "169.254.169.254.nip.io",
    "[fe80::1]", "[FE80::1]", "[febf::1]", "[fe80::a9fe:a9fe]", "[::ffff:a9fe:a9fe]",
    "[::ffff:169.254.169.254]", "[::a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]",
    "[2001::1]", "[ff02::1]", "[fec0::1]",
)  # fmt: skip
_CLOUDS = (
    "metadata", "metadata.google.internal", "METADATA.GOOGLE.INTERNAL", "metadata.google.internal.",
    "metadata.goog", "instance-data", "instance-data.ec2.internal", "metadata.tencentyun.com",
    "100.100.100.200", "168.63.129.16", "192.0.0.192", "[fd00:ec2::254]", "[fd00:0ec2::254]",
    "[FD00:EC2:0:0:0:0:0:254]", "[fd20:ce::254]",
)  # fmt: skip
_STRANGE = (
    "me@example.com", "169.254.169.254@example.com", "example.com#@169.254.169.254",
    "example.com\\@169.254.169.254", "%31%32%37.0.0.1", "\u2460\u2461\u2466.0.0.1",
    "127\u30020.0.1", "[fe80::1%25eth0]", "[::1", "a b.example.com", "example.com\n.local",
    "", ":8200", "-", ".", "example.com:99999999",
)  # fmt: skip
HOSTS: tuple[str, ...] = (*_LOOPBACK, *_LINK, *_CLOUDS, *_STRANGE)
"""More than eighty forms of addresses of the pod, its link and metadata services, or invalid
ones."""

URLS: tuple[str, ...] = (
    *(f"https://{host}" for host in HOSTS),
    "HTTP://example.com",
    "HTTPS://example.com",
    "hTTps://127.0.0.1",
    "file:///etc/bao/unseal/key",
    "gopher://example.com",
    "//example.com",
    "example.com",
    "https:/example.com",
    "https:example.com",
    "https:///example.com",
    "javascript:alert(1)",
    "unix:///var/run/docker.sock",
)
"""Each must be rejected in every URL field of a spec."""
