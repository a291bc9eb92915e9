"""`docs/lint.schema.json` and the JSON report are of one mind."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stemcache.lint.finding import Report, Total
from stemcache.lint.report_json import as_json
from tests.lint.reports import AWKWARD, CLEAN, SIMPLE

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "lint.schema.json").read_text())
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": int | float,
    "null": type(None),
}
KNOWN = {
    *("$schema", "$defs", "$ref", "title", "description", "type", "properties", "required"),
    *("additionalProperties", "items", "maxItems", "enum", "const", "anyOf", "minimum", "pattern"),
}


def faults(value: Any, schema: Any, at: str = "") -> list[str]:
    """Where a value breaks a schema, of the words that this one uses."""
    assert set(schema) <= KNOWN, "every word of the schema is checked here"
    if "$ref" in schema:
        return faults(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], at)
    if "anyOf" in schema:
        found = [faults(value, each, at) for each in schema["anyOf"]]
        return [] if [] in found else found[0]
    if "const" in schema:
        return [] if value == schema["const"] else [f"{at} is {value!r}"]
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{at} is {value!r}"]
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if isinstance(value, bool) or not any(isinstance(value, TYPES[name]) for name in names):
        return [f"{at} is {value!r}"]
    if isinstance(value, dict):
        return in_object(value, schema, at)
    if isinstance(value, list):
        long = [f"{at} has {len(value)}"] if len(value) > schema.get("maxItems", len(value)) else []
        return long + [
            fault
            for number, each in enumerate(value)
            for fault in faults(each, schema["items"], f"{at}/{number}")
        ]
    low = isinstance(value, int | float) and value < schema.get("minimum", value)
    odd = isinstance(value, str) and not re.search(schema.get("pattern", ""), value)
    return [f"{at} is {value!r}"] if low or odd else []


def in_object(value: dict[str, Any], schema: Any, at: str) -> list[str]:
    """The same of an object."""
    named, others = schema.get("properties", {}), schema.get("additionalProperties")
    found = [f"{at} has no {name}" for name in schema.get("required", ()) if name not in value]
    for name, each in value.items():
        inner = named.get(name, others)
        found += [f"{at} has {name}"] if not inner else faults(each, inner, f"{at}/{name}")
    return found


@pytest.mark.parametrize("report", [SIMPLE, AWKWARD, CLEAN, replace(CLEAN, total=Total())])
@pytest.mark.parametrize("show_text", [False, True])
def test_every_report_is_of_the_schema(report: Report, *, show_text: bool) -> None:
    """Whatever is known, with and without texts."""
    assert faults(as_json(report, show_text=show_text), SCHEMA) == []


def test_the_schema_has_no_name_that_reports_have_not() -> None:
    """Nor are any of them optional, but for texts."""
    told = as_json(SIMPLE, show_text=True)
    found, defined = told["findings"][0], SCHEMA["$defs"]
    for value, schema in (
        (told, SCHEMA),
        (found, defined["finding"]),
        (found["location"], defined["location"]),
        (found["examples"][0], defined["example"]),
        (told["total"], defined["total"]),
        (told["reconciliation"], defined["reconciliation"]),
    ):
        assert set(schema["properties"]) == set(value)
        optional = set(schema["properties"]) - set(schema["required"])
        assert optional <= {"old_text", "new_text"}


def test_the_check_sees_what_is_wrong() -> None:
    """A name too many, one too few, a wrong type."""
    told = as_json(SIMPLE)
    told["extra"] = 1
    del told["remarks"]
    told["findings"][0]["severity"] = "fatal"
    told["findings"][0]["code"] = "E501"
    told["findings"][0]["examples"] *= 2
    told["total"]["calls"] = "many"
    told["total"]["cold"] = -1
    assert faults(told, SCHEMA) == [
        " has no remarks",
        "/findings/0/code is 'E501'",
        "/findings/0/severity is 'fatal'",
        "/findings/0/examples has 4",
        "/total/calls is 'many'",
        "/total/cold is -1",
        " has extra",
    ]
