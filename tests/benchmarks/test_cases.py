"""The pairs of the matrix, and what lint says of each."""

import json

import pytest

from benchmarks.peers_matrix.cases import CASES, Case
from tests.lint.logs import lint

_BY_ID = [pytest.param(case, id=case.id) for case in CASES]


@pytest.mark.parametrize("case", _BY_ID)
def test_pair_has_the_kind_that_the_vendors_rule_gives_it(case: Case) -> None:
    """The planted fault is found, no warning of another kind stands beside it."""
    findings = lint(case.make()).findings
    warned = {finding.kind for finding in findings if finding.severity != "note"}
    if case.truth.kind is None:
        assert not warned
    else:
        assert case.truth.kind in {finding.kind for finding in findings}
        assert warned <= {case.truth.kind}


@pytest.mark.parametrize("case", _BY_ID)
def test_pair_is_the_same_each_time(case: Case) -> None:
    """Nothing of a pair depends on chance or on a pair made before it."""
    first, again = (json.dumps(case.make()) for _ in range(2))
    assert first == again


def test_every_form_begins_with_its_clean_pair() -> None:
    """What a linter says of the clean pair is known before it is asked about another."""
    firsts: dict[str, str] = {}
    for case in CASES:
        firsts.setdefault(case.form, case.name)
    assert set(firsts.values()) == {"clean"}
