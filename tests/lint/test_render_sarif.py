import json
from dataclasses import replace
from typing import Any

import pytest

from stemcache.lint.finding import Location, Report
from stemcache.lint.render_sarif import render
from tests.lint.reports import AWKWARD, CLEAN, CLOCK, RULE, SECRET, SIMPLE, finding

LEVELS = {"none", "note", "warning", "error"}
"""What the standard knows."""
KINDS = {"object", "array", "property", "value"}
"""Of logical locations in JSON."""


def log(report: Report, **flags: bool) -> Any:
    """The log file, decoded."""
    return json.loads("\n".join(render(report, rules=[RULE], **flags)))


def check(told: Any) -> None:
    """Every property that SARIF 2.1.0 requires, and the types of those that are there."""
    assert told["version"] == "2.1.0"
    assert told["$schema"].endswith("sarif-2.1.0.json")
    for run in told["runs"]:
        driver = run["tool"]["driver"]
        assert isinstance(driver["name"], str)
        assert driver["name"]
        ids = [rule["id"] for rule in driver["rules"]]
        assert len(set(ids)) == len(ids)
        for rule in driver["rules"]:
            for name in ("shortDescription", "fullDescription", "help"):
                if name in rule:
                    assert isinstance(rule[name]["text"], str)
                    assert rule[name]["text"]
            if "defaultConfiguration" in rule:
                assert rule["defaultConfiguration"]["level"] in LEVELS
        assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}
        for result in run["results"]:
            check_result(result, ids)


def check_result(result: Any, ids: list[str]) -> None:
    """One result."""
    assert result["message"]["text"]
    assert result["level"] in LEVELS
    assert ids[result["ruleIndex"]] == result["ruleId"]
    assert result["occurrenceCount"] >= 1
    assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
    numbers = [location["id"] for location in result["relatedLocations"]]
    assert len(set(numbers)) == len(numbers)
    for location in [*result["locations"], *result["relatedLocations"]]:
        physical = location["physicalLocation"]
        assert physical["region"]["startLine"] >= 1
        uri = physical["artifactLocation"]["uri"]
        assert uri.isascii()
        assert not set(uri) & set(' "<>\\^`{|}\n')
        for spot in location.get("logicalLocations", ()):
            assert spot["kind"] in KINDS
            assert spot["fullyQualifiedName"]


@pytest.mark.parametrize("report", [SIMPLE, AWKWARD, CLEAN])
def test_the_log_has_what_the_standard_requires(report: Report) -> None:
    """Whatever names and figures are in the report."""
    check(log(report))


def test_a_rule_brings_its_page_along() -> None:
    """As Markdown, for the page of an alert."""
    (rule,) = log(SIMPLE)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["id"] == "STM101"
    assert rule["help"]["markdown"] == RULE.page.strip()
    assert rule["shortDescription"]["text"] == RULE.summary
    assert rule["fullDescription"]["text"] == "A time in the prefix."


def test_a_finding_is_a_result_at_its_place() -> None:
    """The pointer is a logical location; the fingerprint makes it one alert from run to run."""
    (result,) = log(SIMPLE)["runs"][0]["results"]
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "calls.jsonl"},
                "region": {"startLine": 2},
            },
            "logicalLocations": [
                {
                    "fullyQualifiedName": "/system/0/text",
                    "kind": "value",
                    "properties": {"char": 31},
                }
            ],
        }
    ]
    assert result["partialFingerprints"] == {"stemcacheCause/v1": "f" * 32}
    assert result["properties"]["cost_usd"] == 540.12
    assert [each["message"]["text"] for each in result["relatedLocations"]] == [
        "ISO time, 20 chars → ISO time, 20 chars",
        "here too",
    ]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("logs/a b.jsonl", "logs/a%20b.jsonl"),
        ("/var/log/a.jsonl", "file:///var/log/a.jsonl"),
        ("é.jsonl", "%C3%A9.jsonl"),
        ("a:b.jsonl", "a%3Ab.jsonl"),
        ("\udcff", "%FF"),
        ("\ud800", "%5Cud800"),
        ("-", "-"),
    ],
)
def test_paths_are_uris(file: str, uri: str) -> None:
    """Relative ones stay relative, so that they are found in a repository."""
    report = replace(CLEAN, findings=(finding(location=Location(file, 0)),))
    (result,) = log(report)["runs"][0]["results"]
    physical = result["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == uri
    assert physical["region"]["startLine"] == 1


def test_texts_are_there_only_when_asked_for() -> None:
    """In the properties of a result."""
    assert SECRET not in json.dumps(log(SIMPLE))
    assert SECRET in json.dumps(log(SIMPLE, show_text=True))


def test_all_rules_are_listed_by_default() -> None:
    """Those that found nothing as well."""
    told = json.loads("\n".join(render(replace(SIMPLE, findings=(CLOCK,)))))
    check(told)
    codes = [rule["id"] for rule in told["runs"][0]["tool"]["driver"]["rules"]]
    assert codes == sorted(codes)
    assert {"STM101", "STM201"} <= set(codes)
