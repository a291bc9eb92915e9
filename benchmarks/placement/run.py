"""What marks cost on the airline trajectories: ours, LiteLLM's and pydantic-ai's.

    python -m benchmarks.placement.run --peers DIR            DIR: a virtual environment with both
    python -m benchmarks.placement.run --peers DIR --keep D   bodies are kept in D, and read again

Peers make the bodies; a client's cache is simulated under the provider's rule, and billed by its
prices. Ours are other marks on the same bodies: the text is the same, byte for byte. Our forecast
is the log of another day (another seed of the same schedule), and of a session's earlier requests
what a client knows: where it set marks, and when. Where a provider promises a lifetime and may keep
entries for longer (OpenAI), both are played: gone as promised, and kept as the simulator has it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.placement.airline import Pace, schedule, tools, trajectories
from benchmarks.placement.marks import laid_of, marked, shaped
from benchmarks.placement.peers import MODES
from benchmarks.placement.play import Placer, gaps, play, with_marks
from stemcache.prompt.marks.forecasts import Poisson
from stemcache.prompt.marks.place import place
from stemcache.prompt.piece import Laid
from stemcache.prompt.stability import Stability
from stemcache.provider.book import Book, load_book
from stemcache.provider.rule import Rule
from stemcache.provider.shape import Shape
from stemcache.trace.spans.sketch import TextMemo
from stemcache.wire.api import Api, api_of

__all__ = ["main"]

RESULTS = Path(__file__).with_name("results.json")
PACES = (
    Pace("busy", session_every_s=20, user_s=30),
    Pace("usual", session_every_s=120, user_s=90),
    Pace("slow", session_every_s=1200, user_s=480),
)
MODELS = {
    "anthropic": ("claude-sonnet-5-5", "claude-sonnet-4-5", "claude-haiku-4-5"),
    "openai": ("gpt-6.1-sol", "gpt-5.6"),
}
RULES = {"anthropic": "anthropic", "openai": "openai-5.6"}
_SEED = 6
_CHECKED_EVERY = 50


class Bodies:
    """One mode's requests, with the system prompt so many times as long."""

    def __init__(self, path: Path, rule: Rule, times: int) -> None:
        with path.open(encoding="utf-8") as lines:
            self.made_by: dict[str, Any] = json.loads(next(lines))
            self.shapes: dict[tuple[int, int], Shape] = {}
            self.laids: dict[tuple[int, int], Laid] = {}
            memo = TextMemo()
            for number, line in enumerate(lines):
                session, messages, at, body = json.loads(line)
                body = _longer(body, times)
                api = api_of(body, at)
                assert api is not None, at
                prompt, shape = shaped(body, api, rule, memo)
                self.shapes[session, messages] = shape
                self.laids[session, messages] = laid_of(prompt, shape, api)
                if number % _CHECKED_EVERY == 0:
                    self._check(body, api, rule, memo)

    def _check(self, body: dict[str, Any], api: Api, rule: Rule, memo: TextMemo) -> None:
        """Our marks in the body are the marks that are played."""
        prompt, shape = shaped(body, api, rule, memo)
        laid = laid_of(prompt, shape, api)
        forecast = Poisson(laid, {Stability.STATIC: 1.0, Stability.SESSION: 0.01})
        ours = place(laid, rule=rule, price=None, forecast=forecast)
        _, read = shaped(marked(body, prompt, ours), api, rule, memo)
        meant = with_marks(shape, ours)
        assert [one.mark for one in read.positions] == [one.mark for one in meant.positions]
        assert [one.chain for one in read.positions] == [one.chain for one in meant.positions]


def _longer(body: dict[str, Any], times: int) -> dict[str, Any]:
    if times == 1:
        return body
    for name in ("system", "messages", "input"):
        if name in body:
            first = body[name][0]
            if name != "system" and isinstance(first["content"], str):
                first["content"] *= times
            else:
                block = first if name == "system" else first["content"][0]
                block["text"] *= times
            return body
    raise AssertionError("bodies have a system prompt")


def _made(mode: str, peers: Path, folder: Path) -> Path:
    path = folder / f"{mode}.jsonl"
    if path.exists():
        return path
    sessions = trajectories()
    given = json.dumps({"sessions": sessions, "tools": tools(sessions)})
    script = Path(__file__).with_name("peers.py")
    done = subprocess.run(
        [str(peers / "bin" / "python"), str(script), mode],
        input=given,
        capture_output=True,
        text=True,
        check=True,
        timeout=1800,
    )
    path.write_text(done.stdout, encoding="utf-8")
    return path


def _rows(book: Book, folder: Path, peers: Path, times: int) -> Iterator[dict[str, Any]]:
    sessions = trajectories()
    ours: dict[tuple[str, ...], Any] = {}
    for mode, (package, provider, _) in MODES.items():
        path = _made(mode, peers, folder)
        bodies = Bodies(path, book.rule(RULES[provider], MODELS[provider][0]), times)
        for pace in PACES:
            turns = schedule(sessions, pace, seed=_SEED)
            told = gaps(schedule(sessions, pace, seed=_SEED + 1))
            shapes = {one: bodies.shapes[one.session, one.messages] for one in turns}
            for model in MODELS[provider]:
                rule = book.rule(RULES[provider], model)
                price = book.price(provider, model)
                assert price is not None, model
                key = package, provider, pace.name, model
                laids = {one: bodies.laids[one.session, one.messages] for one in turns}
                placer = Placer(laids, told, rule, price)
                bills: dict[str, Any] = {}
                for reading, played in _readings(rule).items():
                    known = (*key, reading)
                    if known not in ours:
                        ours[known] = play(turns, shapes, rule=played, price=price, placer=placer)
                    theirs = play(turns, shapes, rule=played, price=price, placer=None)
                    bills[reading] = {"theirs": asdict(theirs), "ours": asdict(ours[known])}
                row = {
                    "mode": mode,
                    **bodies.made_by,
                    "provider": provider,
                    "model": model,
                    "pace": pace.name,
                    "system_times": times,
                    "minimum_tokens": rule.minimum_tokens.likely,
                    "system_tokens": _system_tokens(bodies.laids),
                    **bills,
                }
                print(_line(row), flush=True)
                yield row


def _readings(rule: Rule) -> dict[str, Rule]:
    """The rule with entries gone as soon as promised, and kept as long as sources leave open."""
    promised = replace(rule, ttls=tuple(replace(one, high_s=one.low_s) for one in rule.ttls))
    return {"promised": promised} if promised == rule else {"promised": promised, "kept": rule}


def _system_tokens(laids: dict[tuple[int, int], Laid]) -> int:
    laid = next(iter(laids.values()))
    return sum(
        piece.tokens for piece in laid.pieces if piece.message < 0 or piece.section == "system"
    )


def _line(row: dict[str, Any]) -> str:
    theirs, ours = row["promised"]["theirs"], row["promised"]["ours"]
    read = [one["read_tokens"] / one["prompt_tokens"] for one in (theirs, ours)]
    return (
        f"{row['mode']:28} {row['model']:18} {row['pace']:6} x{row['system_times']} "
        f"{theirs['usd']:8.3f} USD {read[0]:6.1%} read   ours {ours['usd']:8.3f} USD "
        f"{read[1]:6.1%} read   {ours['usd'] / theirs['usd'] - 1:+7.2%}{_if_kept(row)}"
    )


def _if_kept(row: dict[str, Any]) -> str:
    if "kept" not in row:
        return ""
    theirs, ours = row["kept"]["theirs"]["usd"], row["kept"]["ours"]["usd"]
    return f"   kept {theirs:8.3f} {ours:8.3f} {ours / theirs - 1:+7.2%}"


def main(arguments: list[str] | None = None) -> int:
    """Plays all modes, prints a line each and writes the results. Exits 1 where ours is dearer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, required=True)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args(arguments)
    book = load_book()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows = [row for times in (1, 4) for row in _rows(book, folder, given.peers, times)]
    RESULTS.write_text(
        json.dumps(
            {"machine": machine(), "paces": [asdict(pace) for pace in PACES], "rows": rows},
            indent=1,
        )
        + "\n",
        encoding="utf-8",
    )
    dearer = [
        row
        for row in rows
        if row["promised"]["ours"]["usd"] > row["promised"]["theirs"]["usd"] * (1 + 1e-9)
    ]
    for row in dearer:
        print(f"dearer: {_line(row)}", file=sys.stderr)
    return 1 if dearer else 0


if __name__ == "__main__":
    sys.exit(main())
