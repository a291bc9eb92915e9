r"""Which lines picture where a program runs right now.

| said by its words | changes |
|---|---|
| `tokens left: 12,345`, `load average: …`, `visible files: …`, `cursor: 12:4` | with each request |
| `git status:` with paths below, `current branch: main` | with the conversation |

By its form alone: what git prints of a working tree, `cwd: /home/me`, `hostname: …`, `pid: 4711`,
and a `commit 3f2a1bc` that is all of its line. A tree of directories drawn by hand, a commit in a
changelog, or platforms that are supported, are none of these.
"""

import re
from collections.abc import Iterator, Sequence

from stemcache.prompt.volatile.lines import Line, is_supposed
from stemcache.prompt.volatile.sight import Sight
from stemcache.text.volatile.detector import Family, Token

__all__ = ["budget_sight", "environment_sights"]

_STATUS = re.compile(
    r"\W{0,8}(?:(?:on|your|current) branch\s\S|HEAD detached at\s\S|untracked files:$"
    r"|changes (?:not staged|to be committed)|nothing (?:added )?to commit|no changes added to)",
    re.IGNORECASE,
)
_PORCELAIN = re.compile(
    r"(?:[MADRCU]{1,2}|\?\?| [MD]|[MARC][MD])\s{1,2}[\w.@+-]{0,120}[/.][\w./@+-]{1,200}$"
)
_COMMIT = re.compile(r"\W{0,4}[0-9a-f]{7,40}\s\S")
_LABEL = re.compile(
    r"\W{0,8}(?:git[\s_-]?status|recent commits|working tree|(?:current )?git (?:state|info))"
    r"(?:\s\([^()]{1,60}\))?\W{0,4}$",
    re.IGNORECASE,
)
_BRANCH = re.compile(
    r"\W{0,8}(?:(?:current|git|active)[\s_-]?branch|git[\s_-]?(?:sha|commit|head))[\"']?\s?[:=]\s?"
    r"[\"'`]?[\w./-]{1,120}",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"\W{0,8}(?:(?:cwd|pwd|(?:primary |current |your )?working[\s_-]dir(?:ectory)?"
    r"|current[\s_-]dir(?:ectory)?)[\"'*]{0,3}(?:\sis)?\s?[:=>]?[\s\"'`*]{0,3}(?:/|~|[A-Z]:\\)\S"
    r"|host[\s_-]?name[\"']?\s?[:=]\s?[\"']?[a-z]\S{0,60}\d|pids?[\"']?\s?[:=]\s?[\"']?\d"
    r"|(?:pid|process id)\s(?:is\s)?\d{2,7}\b)",
    re.IGNORECASE,
)
_AT_COMMIT = re.compile(
    r"[^\w-]{0,8}(?:(?:at|on|git|build|built|current|running|deployed|from)\s){0,3}"
    r"(?:commit|revision|rev|sha|head)\s(?:is\s|at\s)?[`'\"]?"
    r"(?=[0-9a-f]{0,39}\d)[0-9a-f]{7,40}\W{0,4}$",
    re.IGNORECASE,
)
_MOMENT = re.compile(
    r"\W{0,8}(?:load[\s_-]average|cpu[\s_-]?(?:usage|load)"
    r"|(?:free|used|available)[\s_-](?:memory|disk)|disk[\s_-](?:usage|free|used)"
    r"|mem(?:ory)?[\s_-](?:usage|free|used|available)|battery(?: level)?"
    r"|open[\s_-](?:tabs|files|ports)|visible[\s_-]files|active[\s_-](?:file|editor|tab)"
    r"|cursor(?:[\s_-]position)?|running[\s_-]processes)[\"']?\s?[:=]\s?[\"'`\[]?"
    r"[\w~-]{0,120}[\d./]",
    re.IGNORECASE,
)
_BUDGET = re.compile(
    r"(?:tokens?|context|budget|credits?|quota)\s(?:window\s)?(?:left|remaining|used(?:\sso\sfar)?)"
    r"\W{0,6}$|\b(?:remaining|used)[\s_-](?:tokens?|context|budget|credits?|quota)\W{0,6}$",
    re.IGNORECASE,
)
_LEFT = re.compile(
    r"\s?(?:/\s?[\d,.kKM]{1,12}\s?|of\s(?:your\s)?[\d,.kKM]{1,12}\s?)?(?:tokens?|credits?|%(?:\sof\s[\w\s]{1,20})?)?"
    r"\s?(?:are\s|is\s)?(?:left|remaining|remain\b|used\sso\sfar)",
    re.IGNORECASE,
)


def environment_sights(found: Sequence[Line]) -> Iterator[tuple[Line, Sight]]:
    """Linear in the lines, which are those of one text."""
    for at, line in enumerate(found):
        text = line.text
        if is_supposed(text[:96]):
            continue
        if _MOMENT.match(text):
            yield line, _sight("an environment field", said=True, each_request=True)
        elif _BRANCH.match(text) or (_LABEL.match(text) and any(map(_is_git, _below(found, at)))):
            yield line, _sight("git status", said=True)
        elif (_STATUS.match(text) and any(map(_is_git, _below(found, at)))) or (
            _PORCELAIN.match(text) and any(_PORCELAIN.match(one) for one in _below(found, at)[:1])
        ):
            yield line, _sight("git status", said=False)
        elif _AT_COMMIT.match(text):
            yield line, _sight("a commit", said=False)
        elif _PLACE.match(text):
            yield line, _sight("an environment field", said=False)


def budget_sight(line: Line, token: Token) -> Sight | None:
    """What a number of tokens on a line is, or None where it is a limit."""
    ahead = line.ahead(token.start)
    if is_supposed(ahead):
        return None
    if not _BUDGET.search(ahead) and not _LEFT.match(line.text, token.end):
        return None
    return Sight(
        at=token.start,
        family=Family.ENVIRONMENT,
        what="a token budget",
        said=True,
        each_request=True,
    )


def _below(found: Sequence[Line], at: int) -> list[str]:
    return [line.text for line in found[at + 1 : at + 6]]


def _is_git(text: str) -> bool:
    return any(form.match(text) for form in (_STATUS, _PORCELAIN, _COMMIT, _BRANCH))


def _sight(what: str, *, said: bool, each_request: bool = False) -> Sight:
    return Sight(at=0, family=Family.ENVIRONMENT, what=what, said=said, each_request=each_request)
