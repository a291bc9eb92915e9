"""`stemcache prefix lock`, `check` and `diff`, with builders in processes of their own."""

import json
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from stemcache.cli.main import stemcache
from stemcache.prompt.lock.file import read_lock
from tests.cli.prefix_projects import RULES, Project

MODELS = 'models = ["anthropic/claude-opus-4-5", "openai/gpt-4.1"]'
LAYOUT = """
from stemcache.prompt.layout import Layout
from stemcache.prompt.segment import reference, session, static
from stemcache.prompt.tool import Tool

def support():
    rules = static("rules", open("rules.txt").read(), version="3")
    search = Tool(name="search", description="find", schema={"type": "object"})
    return Layout([rules, reference("book", "How we ship.", version="1"), session("who", "Ann")],
                  [search])
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty one, in which commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return Project(tmp_path)


def test_what_is_locked_checks(project: Project) -> None:
    """And nothing differs."""
    project.text(RULES)
    assert project.run("lock").code == 0
    done = project.run("check")
    assert (done.code, done.out, done.err) == (0, "", "1 prefix as in stemcache.lock\n")
    done = project.run("diff")
    assert (done.code, done.out) == (0, "")
    assert done.err == "nothing differs from stemcache.lock\n"


def test_the_lock_says_what_it_pins(project: Project) -> None:
    """Name, version, digest and tokens."""
    project.text("abcd" * 10, version="2026-11")
    done = project.run("lock")
    assert done.out == "triage: new, 10 tokens\n"
    assert done.err == "wrote stemcache.lock\n"
    pin = read_lock((project.folder / "stemcache.lock").read_text(), "x")["triage"]
    assert (pin.version, pin.tokens) == ("2026-11", 10)
    assert project.run("lock").err == "stemcache.lock is as it should be\n"


def test_a_layout_is_built_by_its_function(project: Project) -> None:
    """From the project's own folder, its versions those of its segments."""
    project.write("app/prompts.py", LAYOUT)
    project.write("rules.txt", RULES)
    project.write("pyproject.toml", '[tool.stemcache.prefixes]\nsupport = "app.prompts:support"\n')
    assert project.run("lock").code == 0
    told = project.told("check")
    assert (told["findings"], told["checked"]) == ([], 1)
    pin = read_lock((project.folder / "stemcache.lock").read_text(), "x")["support"]
    assert pin.version == "rules=3 book=1"
    assert [one.name for one in pin.portions] == ["tool:search", "rules", "book"]


def test_changed_bytes_fail_with_their_place_and_cost(project: Project) -> None:
    """Without a text of a prompt."""
    project.text(RULES, lock=f"{MODELS}\nlive = 40")
    project.run("lock")
    project.text(RULES.replace("Rule 300", "Law 300"), lock=f"{MODELS}\nlive = 40")
    done = project.run("check")
    assert done.code == 1
    head, place, kept, *costs, advice = done.out.splitlines()
    assert head.startswith("triage: changed: its bytes changed in text, and its version is '1' as")
    assert place.startswith("  edited     text, between characters ")
    assert "tokens stand before the first change" in kept
    assert costs[0].startswith("  anthropic/claude-opus-4-5: ")
    assert "written anew by each of 40 caches, $" in costs[0]
    assert advice.startswith("  help: give it a new version, then run `stemcache prefix lock`")
    assert "customer" not in done.out
    assert done.err == "1 finding in 1 prefix\n"


def test_a_cost_is_tokens_times_price_times_caches(project: Project) -> None:
    """--live wins over the settings, and a prefix's over those of all."""
    project.text(RULES, lock=f"{MODELS}\nlive = 40")
    project.run("lock")
    project.text("X" + RULES, lock=f"{MODELS}\nlive = 40")
    costs = {
        live: project.told("check", *flags)["prefixes"][0]["costs"][0]
        for live, flags in ((40, ()), (3, ("--live", 3)), (0, ("--live", 0)))
    }
    assert {live: one["caches"] for live, one in costs.items()} == {40: 40, 3: 3, 0: 0}
    assert costs[40]["usd"] == pytest.approx(costs[3]["usd"] / 3 * 40)
    assert costs[40]["usd"] == pytest.approx(costs[40]["written_tokens"] * 6.25e-6 * 40)
    assert costs[0]["usd"] == 0
    project.settings('triage = { path = "triage.md", version = "1", live = 7 }', MODELS)
    assert project.told("check")["prefixes"][0]["costs"][0]["caches"] == 7


def test_bytes_that_changed_are_not_locked_under_an_old_version(project: Project) -> None:
    """But with --amend, or a new version."""
    project.text(RULES)
    project.run("lock")
    before = (project.folder / "stemcache.lock").read_text()
    project.text(RULES + "More.")
    done = project.run("lock")
    assert done.code == 1
    assert done.out.startswith("triage: changed: ")
    assert (project.folder / "stemcache.lock").read_text() == before
    assert project.run("lock", "--amend").code == 0
    assert project.run("check").code == 0
    project.text(RULES + "Even more.", version="2")
    done = project.run("check")
    assert done.out.startswith("triage: version-unlocked: its version is '2', and stemcache.lock")
    assert project.run("lock").out.startswith("triage: version 1 → 2, ")
    assert project.run("check").code == 0


def test_new_and_gone_prefixes_fail(project: Project) -> None:
    """Until they are locked."""
    project.text(RULES)
    done = project.run("check")
    assert (done.code, done.out.splitlines()[0]) == (
        1,
        "triage: new: stemcache.lock does not have it",
    )
    project.run("lock")
    project.settings('other = { path = "triage.md", version = "1" }')
    kinds = [(one["prefix"], one["kind"]) for one in project.told("check")["findings"]]
    assert kinds == [("other", "new"), ("triage", "gone")]
    assert [one["name"] for one in project.told("diff")["prefixes"]] == ["other", "triage"]
    before = (project.folder / "stemcache.lock").read_bytes()
    done = project.run("lock")
    assert (done.code, done.out.splitlines()[:2]) == (
        1,
        [
            "triage: gone: stemcache.lock has it and the settings do not",
            "  help: run `stemcache prefix lock --amend` if it was meant to go, else put it back",
        ],
    )
    assert (project.folder / "stemcache.lock").read_bytes() == before
    done = project.run("lock", "--amend")
    assert done.out.splitlines()[1].startswith("triage: gone, it had ")
    assert project.run("check").code == 0


def test_a_prefix_without_a_version_goes_as_it_came(project: Project) -> None:
    """Nobody was promised anything."""
    project.text(RULES)
    project.settings('one = { path = "triage.md" }\ntwo = { path = "triage.md", version = "1" }')
    project.run("lock")
    project.settings('two = { path = "triage.md", version = "1" }')
    assert project.told("check")["findings"][0]["help"].startswith("run `stemcache prefix lock` if")
    assert project.run("lock").code == 0
    assert project.run("check").code == 0


def test_a_long_difference_says_that_it_is_longer_than_what_is_compared(project: Project) -> None:
    """Texts are shown up to 4,096 characters, and their lengths are known as far."""
    project.text(RULES)
    project.run("lock")
    project.commit()
    project.text("\n".join(f"{i} is another thing" for i in range(600)), version="2")
    done = project.run("diff")
    assert any(line.strip().endswith("chars or more") for line in done.out.splitlines())
    change = project.told("diff")["prefixes"][0]["changes"][0]
    assert change["new"].endswith("chars or more")


def test_names_choose_prefixes(project: Project) -> None:
    """The others are left as they are."""
    project.write("a.md", "a")
    project.write("b.md", "b")
    project.settings('a = { path = "a.md", version = "1" }\nb = { path = "b.md", version = "1" }')
    project.run("lock")
    project.write("a.md", "A")
    project.write("b.md", "B")
    assert [one["prefix"] for one in project.told("check", "b")["findings"]] == ["b"]
    assert project.run("lock", "b", "--amend").code == 0
    assert [one["prefix"] for one in project.told("check")["findings"]] == ["a"]
    assert "unknown prefix 'c' from the command line" in project.fails("check", "c")


def test_the_place_is_exact_where_git_has_the_texts(project: Project) -> None:
    """Those of the last commit that wrote the lock, built from its files."""
    project.text(f"Today is 2026-11-30.\n{RULES}", lock=MODELS)
    project.run("lock")
    project.commit()
    project.write("other.txt", "later")
    project.commit()
    project.text(f"Today is 2026-12-01.\n{RULES}", lock=MODELS)
    done = project.run("diff")
    assert done.code == 1
    lines = done.out.splitlines()
    assert lines[0].startswith("triage: version 1, ")
    assert lines[1] == "  edited     text, character 15 (line 1): an ISO date differs", lines
    assert lines[2:4] == ["    - ISO date, 10 chars", "    + ISO date, 10 chars"]
    (one,) = project.told("diff")["prefixes"]
    assert one["exact"]
    assert (one["changes"][0]["char"], one["changes"][0]["char_high"]) == (15, 15)
    assert one["changes"][0]["class"] == "ISO date"
    assert one["kept_tokens"] == {"low": 3, "high": 3}


def test_texts_are_shown_only_when_asked_for(project: Project) -> None:
    """In both formats."""
    project.text(f"The secret word is marzipan.\n{RULES}")
    project.run("lock")
    project.commit()
    project.text(f"The secret word is nougat.\n{RULES}")
    for flags in ((), ("--output-format", "json")):
        hidden, shown = project.run("diff", *flags), project.run("diff", "--show-text", *flags)
        assert "marzipan" not in hidden.out + hidden.err
        assert "nougat" not in hidden.out + hidden.err
        assert "marzipan" in shown.out
        assert "nougat" in shown.out


def test_without_history_digests_are_compared(project: Project) -> None:
    """And it is said why."""
    project.text(RULES)
    project.run("lock")
    project.text("X" + RULES)
    told = project.told("diff")
    assert told["prefixes"][0]["exact"] is False
    assert told["remarks"][0].startswith("there are no earlier texts, so digests are compared: git")
    project.commit()
    (one,) = project.told("diff")["remarks"][:1]
    assert "is not what was locked, so digests are compared" in one
    remarks = project.told("diff", "--digests-only")["remarks"]
    assert remarks == [
        'no model is named, so nothing is priced; add models = ["provider/model"] to [lock]'
    ]


def test_a_base_is_what_bytes_are_held_against(project: Project) -> None:
    """So that a lock that was written anew under the old version is found in review."""
    project.text(RULES, lock=MODELS)
    project.run("lock")
    base = project.commit()
    project.text(RULES + "More.", lock=MODELS)
    project.run("lock", "--amend")
    assert project.run("check").code == 0
    (finding,) = project.told("check", "--base", base)["findings"]
    assert finding["kind"] == "changed"
    assert f"as in stemcache.lock of {base}" in finding["message"]
    project.text(RULES + "More.", version="2", lock=MODELS)
    project.run("lock")
    done = project.run("check", "--base", "main")
    assert done.code == 0
    assert "triage: version 1 → 2, " in done.out
    assert "written anew by a cache, $" in done.out
    told = project.told("diff", "--base", "main")
    assert told["prefixes"][0]["exact"]
    assert told["prefixes"][0]["written_tokens"] == 2


@pytest.mark.parametrize("revision", ["nowhere", "--all", "main^9", "-"])
def test_a_base_that_there_is_not_is_an_error(project: Project, revision: str) -> None:
    """With the advice that CI needs."""
    project.text(RULES)
    project.run("lock")
    project.commit()
    for command in ("check", "diff"):
        said = project.fails(command, f"--base={revision}")
        assert "from --base" in said
        assert said.endswith(("(fetch-depth: 0)", "name a commit or branch"))


def test_a_base_without_a_lock_has_nothing_to_hold_against(project: Project) -> None:
    """All prefixes are new to it."""
    project.text(RULES)
    project.commit()
    project.run("lock")
    assert project.run("check", "--base", "main").code == 0
    assert project.told("diff", "--base", "main")["prefixes"][0]["before"] is None


def test_a_project_may_be_a_part_of_its_repository(project: Project, tmp_path: Path) -> None:
    """Its earlier files are those of its own folder."""
    part = Project(tmp_path / "services/bot")
    part.text(f"One.\n{RULES}")
    flags = ("--config", "services/bot/stemcache.toml")
    assert project.run("lock", *flags).code == 0
    project.commit()
    part.text(f"Two.\n{RULES}")
    (one,) = project.told("diff", *flags)["prefixes"]
    assert (one["exact"], one["changes"][0]["char"]) == (True, 0)


def test_a_log_says_how_many_caches_are_alive(project: Project) -> None:
    """And which conversations stand behind the prefix."""
    project.text(RULES)
    project.run("lock")
    lines = [
        {
            "model": "claude-opus-4-5",
            "max_tokens": 8,
            "system": [{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": f"Question {number} " + "x" * 4_000}],
        }
        for number in range(3)
    ]
    project.write("calls.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    project.text("X" + RULES)
    done = project.run("diff", "--log", "calls.jsonl")
    assert "  anthropic/claude-opus-4-5: " in done.out
    assert "written anew by a cache, $" in done.out
    assert "3 conversations under way with 3," in done.out
    (cost,) = project.told("diff", "--log", "calls.jsonl")["prefixes"][0]["costs"]
    assert (cost["caches"], cost["conversations"]) == (1, 3)
    assert cost["history_tokens"] == pytest.approx(3_015, abs=20)
    assert cost["histories_usd"] == pytest.approx(cost["history_tokens"] * 6.25e-6)
    said = project.fails("diff", "--log", "calls.jsonl", "--live", 3)
    assert said.endswith("--log and --live both say how many caches are alive; leave one out")
    assert "unknown format 'jsn'" in project.fails("diff", "--log", "calls.jsonl", "--format=jsn")


def test_a_model_that_nobody_knows_is_an_error(project: Project) -> None:
    """With the place that names it."""
    project.text(RULES)
    project.run("lock")
    project.text(RULES, lock='models = ["claude"]')
    assert "'claude' from " in project.fails("lock")
    for models, said in (
        ('["claude"]', "'claude' from .*stemcache.toml, lock.models is no provider/model"),
        ('["antropic/claude"]', "unknown provider 'antropic' from .*; did you mean 'anthropic'"),
    ):
        project.text("X" + RULES, version="2", lock=f"models = {models}")
        assert said.split(" from ")[0].replace("(", "") in project.fails("lock")
        with pytest.raises(AssertionError, match=said):
            raise AssertionError(project.fails("check"))


def test_without_a_lock_there_is_nothing_to_compare_with(project: Project) -> None:
    """It says how to write one."""
    project.text(RULES)
    assert project.fails("diff").endswith("write it with `stemcache prefix lock`")


def test_a_lock_that_cannot_be_read_is_written_anew_on_request(project: Project) -> None:
    """Not by itself: what it pinned would be forgotten."""
    project.text(RULES)
    project.run("lock")
    lock = project.folder / "stemcache.lock"
    lock.write_text(lock.read_text().replace("tokens = ", "tokns = ", 1))
    for command in ("check", "lock", "diff"):
        assert "unknown key 'tokns' from stemcache.lock:7; did" in project.fails(command)
    assert project.run("lock", "--amend").code == 0
    assert project.run("check").code == 0
    lock.write_bytes(b"\xff")
    assert "stemcache.lock is not UTF-8" in project.fails("check")


def test_settings_without_prefixes_say_how_to_name_one(project: Project) -> None:
    """With or without a file."""
    project.write("stemcache.toml", "")
    assert "names no prefix; add a table such as [prefixes] support = " in project.fails("check")


def test_names_are_completed_from_the_settings(project: Project) -> None:
    """Without building anything; a file that cannot be read completes nothing."""
    project.settings('support = "nowhere:x"\nsales = "nowhere:y"\ntriage = "nowhere:z"')
    shell = ShellComplete(stemcache, {}, "stemcache", "_STEMCACHE_COMPLETE")
    found = shell.get_completions(["prefix", "check"], "s")
    assert [one.value for one in found] == ["support", "sales"]
    project.write("stemcache.toml", "[")
    assert shell.get_completions(["prefix", "check"], "s") == []


@pytest.mark.parametrize("command", ["", "lock", "check", "diff"])
def test_help_has_examples(project: Project, command: str) -> None:
    """And needs no settings."""
    done = project.run(*command.split(), "--help")
    assert done.code == 0
    assert f"stemcache prefix {command}".strip() in done.out
    assert "Examples:" in done.out


def test_a_version_that_was_left_comes_back_with_its_bytes_only(project: Project) -> None:
    """7, then 8, then 7 again: caches and logs know 7 as something else."""
    commits: list[str] = []
    for text, version in (("seven", "7"), ("eight", "8")):
        project.text(text, version=version)
        assert project.run("lock").code == 0
        commits.append(project.commit())
    project.text("another seven", version="7")
    assert project.run("lock").code == 0
    assert project.run("check").code == 0

    (finding,) = project.told("check", "--base", "main")["findings"]

    assert (finding["kind"], finding["prefix"]) == ("version-reused", "triage")
    said = f"it has version '7' again, with other bytes than in stemcache.lock of {commits[0][:12]}"
    assert finding["message"] == said
    assert finding["help"].startswith("give it a version that it never had")
    project.text("seven", version="7")  # back to what it was
    assert project.run("lock", "--amend").code == 0
    assert project.run("check", "--base", "main").code == 0


def test_a_lock_that_cannot_be_read_in_an_earlier_commit_says_nothing(project: Project) -> None:
    """A conflict was committed once; what stands before it is found all the same."""
    project.text("seven", version="7")
    assert project.run("lock").code == 0
    project.commit()
    lock = (project.folder / "stemcache.lock").read_text()
    project.write("stemcache.lock", "<<<<<<< HEAD\n" + lock)
    project.commit()
    project.text("eight", version="8")
    assert project.run("lock", "--amend").code == 0
    project.commit()
    project.text("another seven", version="7")
    assert project.run("lock").code == 0
    (finding,) = project.told("check", "--base", "main")["findings"]
    assert finding["kind"] == "version-reused"


def test_a_version_that_is_amended_is_told_once(project: Project) -> None:
    """As changed against the base, and not as reused beside."""
    project.text("seven", version="7")
    assert project.run("lock").code == 0
    project.commit()
    project.text("other", version="7")
    assert project.run("lock", "--amend").code == 0
    found = project.told("check", "--base", "main")["findings"]
    assert [one["kind"] for one in found] == ["changed"]


@pytest.mark.parametrize("word", ["def", "async def"])
def test_a_generator_is_no_builder(project: Project, word: str) -> None:
    """It would give a prompt in pieces."""
    project.write("app.py", f"{word} prompt():\n    yield 'a'\n")
    project.settings('triage = "app:prompt"')
    said = project.fails("lock")
    assert "app:prompt is a generator, which gives a text piece by piece; let it return" in said


def test_an_empty_text_is_no_prefix(project: Project) -> None:
    """There is nothing to pin."""
    project.text("")
    assert "the prefix 'triage' is an empty text; write one, or" in project.fails("lock")


def test_one_token_is_not_several(project: Project) -> None:
    """In each sentence."""
    project.text("a", version="1")
    assert project.run("lock").out == "triage: new, 1 token\n"
    project.text("b", version="2")
    out = project.run("diff").out
    assert "triage: version 1 → 2, 1 token\n" in out
    assert "0 to 1 of 1 token stand before the first change; 1 are lost, 1 are new" in out


@pytest.mark.parametrize(
    ("value", "api", "place"),
    [
        (r"'cut \ud83d'", "", "app:prompt has half of a surrogate pair at character 4"),
        (
            r"{'messages': [{'role': 'user', 'content': 'cut \ud83d'}]}",
            ', api = "chat"',
            "app:prompt/messages/0/content has half of a surrogate pair at character 4",
        ),
    ],
)
def test_what_cannot_be_sent_is_not_pinned(
    project: Project, value: str, api: str, place: str
) -> None:
    """With its place, and the builder that gave it."""
    project.write("app.py", f"prompt = {value}\n")
    project.settings(f'triage = {{ object = "app:prompt"{api} }}')
    assert place in project.fails("lock")
