"""Reports made by hand, with every awkward value that a renderer can meet."""

from stemcache.lint.finding import (
    Example,
    Finding,
    Location,
    Reconciliation,
    Report,
    Severity,
    Total,
)
from stemcache.lint.rule import LintRule

__all__ = ["AWKWARD", "CLEAN", "CLOCK", "EVIL_FILE", "RULE", "SECRET", "SIMPLE", "finding"]

SECRET = "the patient's name is Ada"
"""Text of a prompt; no format shows it unless asked."""

CLOCK = Finding(
    code="STM101",
    name="clock-in-prefix",
    kind="clock",
    severity=Severity.WARNING,
    message="a time with seconds stands at character 31",
    location=Location("calls.jsonl", 2, "/system/0/text", 31),
    count=1999,
    lost_tokens=199_900_000,
    cost_usd=540.12,
    help="Move the time behind what stays the same, or write it to the day.",
    examples=(
        Example(
            Location("calls.jsonl", 2, "/system/0/text", 31),
            Location("calls.jsonl", 1, "/system/0/text", 31),
            100_000,
            0.27,
            old="ISO time, 20 chars",
            new="ISO time, 20 chars",
            old_text=SECRET,
            new_text="2026-11-30T10:00:01Z",
        ),
        Example(Location("calls.jsonl", 3, "/system/0/text", 31), None, 100_000, None),
    ),
    route="support-bot",
    rule="anthropic",
    share=0.93,
    fingerprint="f" * 32,
)

SIMPLE = Report(
    findings=(CLOCK,),
    total=Total(
        calls=2000,
        cold=1,
        prompt_tokens=200_400_000,
        prompt_tokens_reported=200_400_000,
        read_tokens=0,
        attainable_tokens=199_900_000,
        lost_tokens=199_900_000,
        cost_usd=640.5,
        input_cost_usd=601.2,
        priced_calls=2000,
        output_tokens=2_000_000,
        span_s=4 * 86_400.0,
        rules={"anthropic": 2000},
        lost_cost_usd=540.12,
    ),
    reconciliation=Reconciliation(calls=2000, exact=2000),
)
"""The case of a first reader: one cause, nearly all the money."""

CLEAN = Report(
    findings=(),
    total=Total(
        calls=12,
        cold=1,
        prompt_tokens=48_000,
        prompt_tokens_reported=48_000,
        read_tokens=40_000,
        attainable_tokens=40_000,
        cost_usd=0.05,
        input_cost_usd=0.03,
        priced_calls=12,
        rules={"openai-5.6": 12},
        lost_cost_usd=0.0,
    ),
    reconciliation=Reconciliation(
        calls=11, exact=11, predicted_tokens=40_000, reported_tokens=40_000
    ),
)

EVIL_FILE = "my logs/50%,a:b\nc\x1b[2J\udcff.jsonl"


def finding(**changes: object) -> Finding:
    """A note that cost nothing, with other values where given."""
    values: dict[str, object] = {
        "code": "STM405",
        "name": "ttl-order",
        "kind": "ttl-order",
        "severity": Severity.NOTE,
        "message": "a marker of 1h stands behind one of 5m",
        "location": Location("calls.jsonl", 1),
        "count": 1,
        "lost_tokens": 0,
        "cost_usd": None,
        "help": "",
    }
    return Finding(**{**values, **changes})  # type: ignore[arg-type]  # as the fields are


AWKWARD = Report(
    findings=(
        finding(
            code="STM404",
            name="too-many-markers",
            kind="too-many-markers",
            severity=Severity.ERROR,
            message="5 markers where 4 are allowed",
            location=Location(EVIL_FILE, 7, "/messages/3/content/1"),
            count=3,
        ),
        finding(
            code="STM204",
            name="key-order",
            kind="key-order",
            severity=Severity.WARNING,
            message="keys of a schema\x1b[31m\nchange their order",
            location=Location(EVIL_FILE, 9, "/tools/0/\u202eevil\x00~1key"),
            count=1,
            lost_tokens=1,
            cost_usd=float("nan"),
            share=float("inf"),
            help="Sort the keys.\n::error::not a command",
            examples=(
                Example(
                    Location(EVIL_FILE, 9, "/tools/0"),
                    Location("-", 8, ""),
                    1,
                    None,
                    new="",
                    old="3 keys",
                    old_text=SECRET,
                ),
            ),
        ),
        finding(),
    ),
    total=Total(
        calls=9,
        failed=1,
        repeated=2,
        skipped={"the JSON ends early": 2, "\x1b[31mred": 1},
        prompt_tokens=9_000,
        prompt_tokens_reported=4_000,
        lost_tokens=1,
        unpriced_calls=8,
        rules={"": 9},
        span_s=60.0,
    ),
    reconciliation=Reconciliation(
        calls=4,
        exact=1,
        predicted_tokens=9_000,
        reported_tokens=4_000,
        remainder={"expired": 6_000, "unseen-traffic": -1_500, "unexplained": 500},
        calls_by_label={"expired": 2, "unseen-traffic": 1},
    ),
    remarks=("No provider is known for gpt-\u202e9: no minimum, no money.",),
    baselined=2,
)

RULE = LintRule(
    code="STM101",
    name="clock-in-prefix",
    kind="clock",
    summary="A time stands before what could be shared.",
    help="Move the time behind what stays the same.",
    page="A time in the prefix.\n\nWhat it finds\n-------------\nTimes.\n",
)
