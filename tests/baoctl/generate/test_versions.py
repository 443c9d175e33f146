"""baoctl.generate.versions: the page of versions, and whether its tests exist."""

import ast

import pytest

from baoctl.generate.versions import version_page
from contracts.server_features import FEATURES, Feature
from e2e.rig.versions import OPENBAO_OLDEST, OPENBAO_RELEASES
from managers.upgrade.version_matrix import PAIR_TESTS, Pair, PairTest, Span
from tests.house.checkout import ROOT

PAIR = Pair(Span(until="2.6.0"), Span("2.6.0", "2.7.0"), "refuse", "no", "issue", "BlueGreen")
PROOF = PairTest("2.6.2", "2.7.0", "RollingUpdate", (1, 3), "e2e/a/test_b.py::test_c")


def test_the_page_has_a_row_for_each_pair_proof_and_feature() -> None:
    page = version_page({"self-init": Feature("2.4.0", "notes", setting="`a`")}, [PAIR], [PROOF])
    assert "supports OpenBao 2.4.0 and later" in page
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert (
        "| before 2.6.0 | from 2.6.0, before 2.7.0 | BlueGreen | any | refuse | no | issue |"
        in rows
    )
    assert "| 2.6.2 | 2.7.0 | RollingUpdate | 1, 3 | warn | `e2e/a/test_b.py::test_c` |" in rows
    assert "| `a` | 2.4.0 | | notes |" in rows


def test_every_feature_names_a_setting() -> None:
    assert [name for name, feature in FEATURES.items() if not feature.setting] == []


@pytest.mark.parametrize("proof", PAIR_TESTS, ids=str)
def test_a_proof_exists_and_the_scenarios_have_its_versions(proof: PairTest) -> None:
    file, _, name = proof.test.partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {proof.before, proof.after} <= {OPENBAO_OLDEST, *OPENBAO_RELEASES}
