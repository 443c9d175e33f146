"""baoctl.generate.site_hooks."""

from types import SimpleNamespace

from baoctl.generate.main import BLUE_GREEN_PAGE, DATACENTER_PAGE, ROOT, UPGRADE_PAGE
from baoctl.generate.site_hooks import on_page_markdown


def html(markdown: str, path: str = "x.md") -> str:
    return on_page_markdown(markdown, page=SimpleNamespace(file=SimpleNamespace(src_uri=path)))


def test_a_state_diagram_becomes_a_table() -> None:
    page = "x\n\n```mermaid\nstateDiagram-v2\n    [*] --> A\n    A --> B: p / q, or r\n```\n\ny\n"
    assert html(page) == (
        "x\n\n| from | to | when / what is done |\n|---|---|---|\n"
        "| (start) | A |  |\n| A | B | p / q<br>or r |\n\ny\n"
    )


def test_every_diagram_of_the_pages_becomes_a_table() -> None:
    for path in (BLUE_GREEN_PAGE, DATACENTER_PAGE, UPGRADE_PAGE):
        text = (ROOT / path).read_text(encoding="utf-8")
        site = html(text)
        assert "mermaid" not in site
        assert site.count("\n| (start) |") == 1
        # Every arrow of the diagram is a row, and nothing else of the page changed.
        arrows = text.count(" --> ")
        assert arrows == site.count("\n|") - text.count("\n|") - 2


def test_a_page_name_becomes_a_link() -> None:
    assert html("| see docs/tls.md; `docs/api.md` [docs/seals.md](seals.md) |") == (
        "| see [docs/tls.md](tls.md); `docs/api.md` [docs/seals.md](seals.md) |"
    )
    assert html("see docs/tls.md", "adr/x.md") == "see [docs/tls.md](../tls.md)"
