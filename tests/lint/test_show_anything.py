"""Reports of any content: every format shows them, on lines that can be printed."""

import json
from typing import get_args
from unicodedata import category

from hypothesis import given, settings
from hypothesis import strategies as st

from stemcache.lint.baseline import baseline_text
from stemcache.lint.bill import bill_remark
from stemcache.lint.fail_on import FIGURES, Threshold, failures
from stemcache.lint.finding import (
    Example,
    Finding,
    Location,
    Reconciliation,
    Report,
    Severity,
    Total,
)
from stemcache.lint.show import OutputFormat, show
from tests.lint.test_json_schema import SCHEMA, faults

UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
JOINERS = dict.fromkeys(map(ord, "\u200c\u200d"))

texts = st.text(st.characters(codec=None, categories=None), max_size=30) | st.text(max_size=300)
counts = st.integers(0, 10**18)
sums = st.none() | st.floats() | st.floats(0, 1e6)
tables = st.dictionaries(texts, st.integers(-(10**12), 10**12), max_size=3)
locations = st.builds(Location, texts, counts, texts, st.none() | counts)
examples = st.builds(
    Example,
    locations,
    st.none() | locations,
    counts,
    sums,
    old=texts,
    new=texts,
    old_text=texts,
    new_text=texts,
)
findings = st.builds(
    Finding,
    code=st.from_regex(r"STM[0-9]{3}", fullmatch=True),
    name=st.just("clock-in-prefix"),
    kind=st.just("clock"),
    severity=st.sampled_from(Severity),
    message=texts,
    location=locations,
    count=counts,
    lost_tokens=counts,
    cost_usd=sums,
    help=texts,
    examples=st.lists(examples, max_size=3).map(tuple),
    route=st.none() | texts,
    rule=st.none() | texts,
    share=sums,
    fingerprint=texts,
)
totals = st.builds(
    Total,
    calls=counts,
    failed=counts,
    repeated=counts,
    skipped=tables,
    prompt_tokens=counts,
    prompt_tokens_reported=counts,
    read_tokens=st.none() | counts,
    attainable_tokens=counts,
    lost_tokens=counts,
    cost_usd=sums,
    input_cost_usd=sums,
    span_s=sums,
    rules=tables,
    fidelities=tables,
    routes=st.lists(texts, max_size=2).map(tuple),
    lost_cost_usd=sums,
)
reports = st.builds(
    Report,
    findings=st.lists(findings, max_size=3).map(tuple),
    total=totals,
    reconciliation=st.builds(
        Reconciliation,
        calls=counts,
        exact=counts,
        predicted_tokens=counts,
        reported_tokens=counts,
        remainder=tables,
        calls_by_label=tables,
    ),
    remarks=st.lists(texts, max_size=2).map(tuple),
    baselined=counts,
)


@settings(max_examples=25)
@given(report=reports, width=st.integers(0, 200), show_text=st.booleans(), quiet=st.booleans())
def test_anything_can_be_shown(report: Report, width: int, *, show_text: bool, quiet: bool) -> None:
    """On lines without controls, and where it is JSON, of the schema and without NaN."""
    for output_format in get_args(OutputFormat):
        lines = list(show(report, output_format, show_text=show_text, width=width, quiet=quiet))
        for line in lines:
            line.encode()
            assert not UNSEEN & set(map(category, line.translate(JOINERS)))
        if output_format in {"json", "sarif"}:
            told = json.loads("\n".join(lines), parse_constant=_never)
            if output_format == "json":
                assert faults(told, SCHEMA) == []


@settings(max_examples=20)
@given(report=reports, limit=st.floats(), bill=st.floats(0, 1e12))
def test_anything_can_be_judged(report: Report, limit: float, bill: float) -> None:
    """By every threshold, against any bill, and written to a baseline."""
    every = [Threshold(name, name, sign, limit) for name in FIGURES for sign in ("<", ">=")]
    for sentence in failures(report, every):
        assert sentence
    assert bill_remark(report.total, bill)
    json.loads(baseline_text(report.findings))


def _never(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")
