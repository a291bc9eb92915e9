"""`stemcache explain`: what A and B may be, exit codes, and errors that say what to do."""

import gzip
import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stemcache.errors import StemcacheError
from stemcache.trace.calls.open import open_calls
from tests.cli.trace_runs import Run
from tests.lint.explain.requests import changed
from tests.lint.logs import anthropic, chat, prose
from tests.trace.calls.samples import LOGS

EXPLAIN = importlib.import_module("stemcache.cli.explain").explain
CASES = Path(__file__).parents[3] / "shared" / "cases"
OLD = anthropic(3, system=f"Now: 2026-11-30T05:14:01Z\n{prose(2_000, 7)}")
NEW = anthropic(4, system=f"Now: 2026-11-30T05:14:31Z\n{prose(2_000, 7)}")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings file of whoever runs the tests."""
    (tmp_path / "stemcache.toml").touch()
    monkeypatch.chdir(tmp_path)


def explain(*arguments: object, stdin: str | None = None) -> Run:
    """The command with these arguments, as `main` would run it."""
    result = CliRunner().invoke(EXPLAIN, list(map(str, arguments)), input=stdin)
    if isinstance(result.exception, StemcacheError):
        return Run(2, result.stdout, f"{result.stderr}stemcache: {result.exception}\n")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Run(result.exit_code, result.stdout, result.stderr)


def told(*arguments: object, stdin: str | None = None) -> dict[str, Any]:
    """The explanation as JSON."""
    run = explain(*arguments, "--output-format", "json", stdin=stdin)
    assert run.code in {0, 1}, run.err
    found: dict[str, Any] = json.loads(run.out)
    return found


def write(name: str, text: str | bytes) -> str:
    """A file in the current directory."""
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def lines(*values: Any) -> str:
    """JSONL."""
    return "".join(json.dumps(value) + "\n" for value in values)


def recorded(
    body: dict[str, Any],
    *,
    id: str,  # noqa: A002  # as the field is called
    time: float,
    read: int = 0,
    prompt: int = 6_000,
) -> dict[str, Any]:
    """What `stemcache record` writes of a call to Anthropic."""
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": prompt - read - 10,
        "output_tokens": 5,
    }
    return {
        "stemcache": 1,
        "time": time,
        "answered": time + 1,
        "ended": time + 2,
        "url": "https://api.anthropic.com/v1/messages",
        "status": 200,
        "request": json.dumps(body),
        "response": {"id": id, "model": "claude-opus-5", "usage": usage},
    }


def test_two_files_in_any_layout_are_compared() -> None:
    """Pretty-printed against compact; the line and column are those of each file."""
    write("a.json", json.dumps(OLD, indent=2))
    write("b.json", json.dumps(NEW, separators=(",", ":")))
    run = explain("a.json", "b.json")
    assert run.code == 1
    assert "B b.json against A a.json" in run.out
    assert "  --> b.json:1:" in run.out
    assert "  was a.json:" in run.out
    assert "STM101 clock-in-prefix" in run.out
    assert "white space between tokens: A indented by 2; B without white space" in run.out


def test_equal_files_exit_with_0() -> None:
    """And growth does, too."""
    write("a.json", json.dumps(anthropic(3)))
    write("b.json", json.dumps(anthropic(4)))
    assert explain("a.json", "a.json").code == 0
    run = explain("a.json", "b.json")
    assert (run.code, run.err) == (0, "")
    assert "Nothing differs that the provider sees" in run.out


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("log.jsonl:1", "log.jsonl:3"),
        ("log.jsonl:1", "b.json"),
        ("a.json", "log.jsonl:3"),
        ("log.jsonl.gz:1", "log.jsonl.gz:3"),
    ],
)
def test_lines_of_a_log_are_compared_with_lines_and_files(a: str, b: str) -> None:
    """Compressed ones, too; blank lines count."""
    write("a.json", json.dumps(OLD))
    write("b.json", json.dumps(NEW))
    text = f"{json.dumps(OLD)}\n\n{json.dumps(NEW)}\n"
    write("log.jsonl", text)
    write("log.jsonl.gz", gzip.compress(text.encode()))
    found = told(a, b)
    assert [one["kind"] for one in found["differences"]] == ["clock"]
    one = found["differences"][0]
    assert one["b"]["line"] == (3 if ":3" in b else 1)
    assert one["a"]["line"] == 1
    assert one["b"]["column"] == json.dumps(NEW).index("31Z") + 1
    assert (found["a"]["name"], found["b"]["name"]) == (a, b)


def test_a_file_with_a_colon_is_that_file() -> None:
    """Before it is a line of another."""
    write("log.jsonl", lines(OLD, NEW))
    write("log.jsonl:2", json.dumps(OLD))
    assert told("log.jsonl:1", "log.jsonl:2")["differences"] == []


@pytest.mark.parametrize(
    ("a", "b", "more"),
    [
        ("calls.jsonl#msg_1", "calls.jsonl#msg_2", ()),
        ("msg_1", "msg_2", ("--log", "calls.jsonl")),
        ("1", "2", ("--log", "calls.jsonl")),
        ("msg_1", "2", ("--log", "calls.jsonl")),
    ],
)
def test_calls_are_named_by_their_answers_id(a: str, b: str, more: tuple[str, ...]) -> None:
    """In the name or with --log, where a number is a line."""
    write(
        "calls.jsonl",
        lines(recorded(OLD, id="msg_1", time=100.0), recorded(NEW, id="msg_2", time=160.0)),
    )
    found = told(a, b, *more)
    assert [one["kind"] for one in found["differences"]] == ["clock"]
    assert found["spelling_only"] == []
    assert found["b"]["read_tokens"] == 0
    # Inside of a string of the log the line is that of the record, and no column is made up.
    assert found["differences"][0]["b"]["line"] is None
    assert found["b"]["line"] == 2


def test_requests_of_a_batch_are_named_by_their_custom_id() -> None:
    """With the answers' usage, where their file is given as well."""
    requests = [
        {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}
        for name, body in (("one", chat(2)), ("two", chat(3)))
    ]
    usage = {
        "prompt_tokens": 5_000,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4_096},
    }
    answers = [
        {
            "id": "b1",
            "custom_id": "two",
            "error": None,
            "response": {"status_code": 200, "body": {"id": "chatcmpl_2", "usage": usage}},
        }
    ]
    write("requests.jsonl", lines(*requests))
    write("answers.jsonl", lines(*answers))
    assert told("requests.jsonl#one", "requests.jsonl#two")["differences"] == []
    found = told("one", "two", "--log", "requests.jsonl", "--log", "answers.jsonl")
    assert (found["b"]["read_tokens"], found["b"]["line"]) == (4_096, 2)


def test_elements_of_an_array_are_counted_and_have_no_column() -> None:
    """Wherever they stand on the file's lines."""
    write("calls.json", json.dumps([OLD, NEW], indent=1))
    found = told("calls.json:1", "calls.json:2")
    assert [one["kind"] for one in found["differences"]] == ["clock"]
    assert (found["b"]["line"], found["differences"][0]["b"]["column"]) == (2, None)
    write("calls.json", f"[{json.dumps(OLD)},\n{json.dumps(NEW)}\n]")
    assert told("calls.json:1", "calls.json:2")["spelling_only"] is None
    run = explain("calls.json", "calls.json:1")
    assert "holds several requests; name one by its line, like calls.json:1" in run.err


def test_a_record_that_has_the_id_is_compared_with_its_parent() -> None:
    """A request of a batch, which has no answer yet."""
    values = [{"custom_id": f"c{i}", "body": chat(i + 1)} for i in range(3)]
    write("batch.jsonl", lines(*values))
    assert told("batch.jsonl#c2")["a"]["line"] == 2


def test_one_call_alone_is_compared_with_its_parent() -> None:
    """As lint pairs them: not with the one just before, and by all that came before."""
    write(
        "calls.jsonl",
        lines(
            recorded(OLD, id="msg_1", time=100.0),
            recorded(chat(2, system=prose(500, 99)), id="msg_x", time=130.0),
            recorded(NEW, id="msg_2", time=160.0),
        ),
    )
    found = told("calls.jsonl:3")
    assert (found["a"]["line"], found["b"]["line"]) == (1, 3)
    assert found["reading"]["whole_log"] is True
    assert [one["kind"] for one in found["differences"]] == ["clock"]
    assert told("msg_2", "--log", "calls.jsonl")["a"]["line"] == 1


def test_what_expired_is_a_reason_and_no_difference() -> None:
    """So it exits with 0; the gap is told from the whole log."""
    write(
        "calls.jsonl",
        lines(
            recorded(anthropic(3), id="msg_1", time=100.0),
            recorded(anthropic(4), id="msg_2", time=1_000.0),
        ),
    )
    (reason,) = told("calls.jsonl:2")["reading"]["reasons"]
    assert reason["label"] == "expired"
    assert explain("calls.jsonl:2").code == 0


def test_standard_input_is_one_body_or_a_log() -> None:
    """Once."""
    write("a.json", json.dumps(OLD))
    assert [one["kind"] for one in told("a.json", "-", stdin=json.dumps(NEW))["differences"]] == [
        "clock"
    ]
    log = lines(OLD, NEW)
    assert [one["kind"] for one in told("1", "2", "--log", "-", stdin=log)["differences"]] == [
        "clock"
    ]
    assert [one["kind"] for one in told("2", "--log", "-", stdin=log)["differences"]] == ["clock"]
    run = explain("9", "--log", "-", stdin=log)
    assert "standard input has no call on line 9; its calls are on lines 1 to 2" in run.err
    run = explain("-", "-", stdin=log)
    assert run.code == 2
    assert "standard input is named twice" in run.err
    run = explain("a.json", "-", stdin=log)
    assert run.code == 2
    assert "if it is a log, name it with --log -" in run.err


def test_own_records_are_read_by_a_mapping() -> None:
    """Their place in the file is found through the pointer."""
    write("own.jsonl", lines({"payload": {"body": OLD}}, {"payload": {"body": NEW}}))
    found = told("own.jsonl:1", "own.jsonl:2", "--map", "request=/payload/body")
    one = found["differences"][0]["b"]
    assert (one["line"], one["pointer"]) == (2, "/system/0/text")
    assert one["column"] == json.dumps({"payload": {"body": NEW}}).index("31Z") + 1
    assert found["spelling_only"] is None


def test_the_provider_may_be_named() -> None:
    """By flag or by the settings file."""
    one, other = chat(2, model="mine"), chat(3, model="mine")
    write("a.json", json.dumps(one))
    write("b.json", json.dumps(other))
    assert told("a.json", "b.json")["cache"]["rule"] is None
    assert told("a.json", "b.json", "--provider", "vllm")["cache"]["rule"] == "vllm"
    write("stemcache.toml", 'provider = "sglang"\n')
    assert told("a.json", "b.json")["cache"]["rule"] == "sglang"
    write("stemcache.toml", "[rules.anthropic]\nminimun = 5\n")
    run = explain("a.json", "b.json")
    assert run.code == 2
    assert "'minimun'" in run.err
    assert "stemcache.toml" in run.err
    write("stemcache.toml", "")
    run = explain("a.json", "b.json", "--provider", "vlm")
    assert run.code == 2
    assert "did you mean 'vllm'?" in run.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nope.json", "a.json"), "'nope.json' is no file, nor a place in one; give a file"),
        (("nope.jsonl:3", "a.json"), "is no file, nor a place in one"),
        (("a.json", "log.jsonl"), "holds several requests; name one by its line, like log.jsonl:1"),
        (("log.jsonl:7", "a.json"), "has no call on line 7; its calls are on lines 1 to 3"),
        (("log.jsonl:2", "a.json"), "log.jsonl:2 cannot be read"),
        (("log.jsonl#x", "a.json"), "no call in log.jsonl has the id 'x'"),
        (("x", "a.json", "--log", "log.jsonl"), "no call in log.jsonl has the id 'x'"),
        (("1", "2", "--log", "log.jsonl", "--log", "a.json"), "say which, like FILE:1"),
        (("1", "2", "--log", "folder"), "say which, like FILE:1"),
        (("a.json",), "a.json alone has nothing to be compared with"),
        (("log.jsonl:1",), "no earlier request in the log shares enough with log.jsonl:1"),
        (("log.jsonl:9",), "has no call on line 9; its calls are on lines 1 to 3"),
        (("log.jsonl#x",), "no call in log.jsonl has the id 'x'"),
        (("folder", "a.json"), "folder is a directory; name one request in it"),
        (("empty.json", "a.json"), "empty.json is empty"),
        (("broken.json", "a.json"), "broken.json"),
        (("other.json", "a.json"), "other.json"),
        (("a.json", "a.json", "--map", "nonsense"), "'nonsense' from --map is no FIELD=POINTER"),
        (("log.jsonl:1", "log.jsonl:3", "--format", "bodys"), "did you mean 'bodies'?"),
        (("prompt.json", "prompt.json"), "has an empty prompt"),
        (("\x00", "a.json"), "is no file"),
        (("a" * 5_000, "a.json"), "is no file"),
        (("log.jsonl:99999999999999999999", "a.json"), "is no file"),
    ],
)
def test_what_cannot_be_used_says_what_to_do(arguments: tuple[str, ...], words: str) -> None:
    """With exit code 2, nothing on stdout, and no text of a prompt."""
    Path("folder").mkdir()
    write("a.json", json.dumps(OLD))
    write("log.jsonl", lines(OLD) + "{broken\n" + lines(NEW))
    write("empty.json", " \n")
    write("broken.json", '{"messages": [{"role": "user", "content": "secret words"}')
    write("other.json", '{"secret": "words"}')
    write("prompt.json", '{"model": "claude-opus-5", "messages": []}')
    run = explain(*arguments)
    assert (run.code, run.out) == (2, "")
    assert words in run.err
    assert "secret words" not in run.err
    assert "Traceback" not in run.err


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"messages": ' + "[" * 5_000 + "]" * 5_000 + "}",
        '{"messages": [{"role": 5, "content": NaN}]}',
        '{"model": [], "messages": [{"role": null, "content": {"a": 1e999}}], "system": 7}',
        '{"messages": [{"role": "user", "content": "\\ud800"}]}',
        b"\xff\xfe\x00",
        b"\x1f\x8b\x08\x00cut",
        b"\x28\xb5\x2f\xfdcut",
        "null",
        '{"messages": [{}], "tools": [[], null, 3], "system": [null, {"text": []}]}',
        '{"contents": [{"parts": [{"text": 5}]}], "tools": {"x": 1}}',
        '{"input": [1, null, {"type": {}}], "model": "gpt-5.6", "tools": "x"}',
    ],
)
def test_junk_is_no_traceback(text: str | bytes) -> None:
    """Of any kind: it is compared, or refused with a reason."""
    write("junk.json", text)
    write("a.json", json.dumps(OLD))
    for arguments in (("junk.json", "a.json"), ("a.json", "junk.json"), ("junk.json", "junk.json")):
        assert explain(*arguments).code in {0, 1, 2}
        assert explain(*arguments, "--show-text").code in {0, 1, 2}


def test_text_is_shown_when_asked_for() -> None:
    """And not before."""
    write("log.jsonl", lines(OLD, NEW))
    masked = explain("log.jsonl:1", "log.jsonl:2").out
    assert "05:14:31Z" not in masked
    assert "[ISO time, 20 chars]" in masked
    assert (
        " B | Now: 2026-11-30T05:14:31Z" in explain("log.jsonl:1", "log.jsonl:2", "--show-text").out
    )


def test_help_has_examples() -> None:
    """One of each form that A and B may have."""
    out = explain("--help").out
    assert "stemcache explain calls.jsonl:41 calls.jsonl:42 --show-text" in out
    assert "calls.jsonl#msg_01" in out


def test_the_names_of_the_json_are_documented() -> None:
    """All of them, on the page of the command."""
    page = (Path(__file__).parents[2] / "docs" / "explain.md").read_text(encoding="utf-8")
    body = changed(NEW, "tool_choice", to={"type": "any"})
    diagnostics = {"cache_miss_reason": {"type": "system_changed"}}
    record = recorded(body, id="msg_2", time=9_000.0)
    record["response"]["diagnostics"] = diagnostics
    write("calls.jsonl", lines(recorded(OLD, id="msg_1", time=100.0), record))
    found = told("calls.jsonl:1", "calls.jsonl:2", "--show-text")
    names = {*found, *found["a"], *found["cache"], *found["reading"], *found["diagnosis"]}
    names |= {*found["differences"][0], *found["differences"][0]["b"]}
    assert [
        name for name in sorted(names) if f"`{name}`" not in page and f".{name}`" not in page
    ] == []


@pytest.mark.skipif(not CASES.exists(), reason="the request sequences are not beside this checkout")
@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_sequences_of_known_cause(api: str) -> None:
    """Of each, what is explained is the cause that is known, at that place, and nothing else."""
    expected = json.loads((CASES / "expected.json").read_text(encoding="utf-8"))
    for name, by_api in expected.items():
        log, cause = CASES / api / f"{name}.jsonl", by_api[api]
        found = told(f"{log}:1", f"{log}:2")
        causes = [
            (one["kind"], one["b"]["pointer"], one["b"]["char"]) for one in found["differences"]
        ]
        causes += [(one["name"], one["pointer"], None) for one in found["refusals"]]
        assert found["costs"] is (cause["kind"] not in {"none", "below-minimum"})
        if cause["kind"] == "none":
            assert causes == [], name
            continue
        ((kind, pointer, char),) = causes
        assert kind == cause["kind"], name
        assert pointer == cause.get("pointer", pointer), name
        assert char == cause.get("char"), name


def test_a_pause_that_another_call_bridged_is_no_reason() -> None:
    """Against its parent all earlier calls are looked at; of two calls alone it would be one."""
    fork = changed(anthropic(4), "messages", 6, "content", 0, "text", to="Something else.")
    write(
        "calls.jsonl",
        lines(
            recorded(anthropic(3), id="msg_1", time=100.0),
            recorded(fork, id="msg_2", time=350.0, read=5_900),
            recorded(anthropic(4), id="msg_3", time=600.0),
        ),
    )
    alone = told("calls.jsonl:1", "calls.jsonl:3")["reading"]
    assert ([one["label"] for one in alone["reasons"]], alone["whole_log"]) == (["expired"], False)
    whole = told("calls.jsonl:3")["reading"]
    assert "expired" not in [one["label"] for one in whole["reasons"]]
    assert whole["whole_log"] is True


@pytest.mark.parametrize("name", LOGS)
def test_every_format_that_lint_reads_can_be_explained(name: str) -> None:
    """A call against itself differs in nothing; one without a body is refused with a reason."""
    write("calls.log", LOGS[name])
    with open_calls(["calls.log"]) as log:
        calls = list(log)
    for call in calls:
        place = f"calls.log:{call.place.line}"
        if call.body is None:
            assert "has no request body" in explain(place, place).err
            continue
        found = told(place, place)
        assert [one["kind"] for one in found["differences"]] in ([], ["below-minimum"])
        assert found["uncosted"] == []
        if call.id is not None:
            assert told(f"calls.log#{call.id}", place)["a"]["line"] == call.place.line
    assert explain(f"calls.log:{calls[-1].place.line}").code in {0, 2}
