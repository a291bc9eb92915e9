"""Lines that picture where a program runs: git, files, processes, budgets.

Such text is told by whole lines: `On branch main`, ` M src/a.py`, `├── tests`, `cwd: /work`. A line
with only a path counts where its neighbours are of the same sort, since prose has paths as well.
"""

import re
from re import Match

from stemcache.text.volatile.detector import Detector, Family

__all__ = ["BUDGETS", "environment_lines", "pictures"]

_GIT = re.compile(
    r"\s{0,8}(?:(?:On|Current|Main|Your) branch\b|HEAD detached|HEAD is now at|Untracked files"
    r"|Changes (?:not staged|to be committed)|nothing (?:added )?to commit|git ?status"
    r"|recent commits|no changes added|\((?:clean|use \"git)"
    r"|(?:branch|commit|HEAD|git[ _]\w{2,12})\s?[:=]"
    r"|(?:modified|deleted|renamed|new file|both modified):\s)",
    re.IGNORECASE,
)
_PORCELAIN = re.compile(r"\s{0,4}(?:[MADRCUT]{1,2}|\?\?|!!|[MADRCUT ][MADRCUT ])\s{1,3}\S{1,400}$")
_COMMIT = re.compile(r"\s{0,4}(?:\*\s)?[0-9a-f]{7,40}\s\S")
_DIFFSTAT = re.compile(r"\s{0,4}\S{1,300}\s{1,40}\|\s{1,8}\d|\s?\d{1,6} files? changed")
_TREE = re.compile(r"[\s│|]{0,80}(?:[├└]|\|--|`--|\+--)")
_LISTING = re.compile(r"[-dlcbps][rwxsStT-]{9}|total \d{1,9}$")
_PATH = re.compile(
    r"\s{0,40}(?:[-*•]\s)?(?:\.{0,2}/)?[\w.@+()\[\]-]{1,120}"
    r"(?:/[\w.@+()\[\]-]{0,120}){0,24}/?$"
)
_FIELD = re.compile(
    r"[\s\-*•|]{0,8}\"?(?:cwd|pwd|(?:primary |current )?working[ _]dir(?:ectory)?"
    r"|current[ _]dir(?:ectory)?|workspace|host(?:[ _]?name)?|node|machine|platform"
    r"|os(?:[ _]version)?|kernel|shell|uname|arch|pids?|(?:running )?processes"
    r"|cpu(?:[ _]usage)?|load[ _]average|mem(?:ory)?[ _](?:usage|free|used|available)"
    r"|(?:free|used)[ _](?:memory|disk)|disk(?:[ _](?:usage|free|used))?|battery|ip(?:[ _]address)?"
    r"|open[ _](?:files|tabs|ports)|active[ _](?:file|editor|tab)|cursor(?:[ _]position)?"
    r"|visible[ _]files|selection|terminals?|is directory a git repo"
    r"|git[ _]?(?:branch|commit|sha|status)|(?:python|node)(?:[ _]version)?|env(?:ironment)?"
    r"|container|pod)\"?\s?[:=]",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"(?:files?|tree|director(?:y|ies)|structure|folders?|listing|project|workspace|repo(?:sitory)?"
    r"|git|status)\b[^\n]{0,60}:?\s{0,4}(?:</?\w{1,40}>|```\w{0,12})?\s{0,4}$",
    re.IGNORECASE,
)
_BUDGET_WORD = re.compile(r"(?:tokens?|context|budget|credits?|quota)\b", re.IGNORECASE)
_LEFT_WORD = re.compile(
    r"(?:left|remain(?:s|ing)?|used|usage|budget|available|spent|consumed|window)\b", re.IGNORECASE
)


def _budget(found: Match[str]) -> bool:
    """Whether its line speaks of what is used or left."""
    text = found.string
    begin = text.rfind("\n", max(0, found.start() - 120), found.start()) + 1
    begin = max(begin, found.start() - 120)
    stop = text.find("\n", found.end(), found.end() + 120)
    line = text[begin : stop if stop >= 0 else found.end() + 120]
    return bool(_BUDGET_WORD.search(line) and _LEFT_WORD.search(line))


BUDGETS = (
    Detector(
        "token budget",
        Family.ENVIRONMENT,
        r"(?<![\w.$])\d{1,3}(?:,\d{3}){1,4}(?!\d)|(?<![\w.$])\d{1,12}(?:\.\d{1,3})?[kKM%]?(?!\w)",
        _budget,
    ),
)


def environment_lines(lines: list[str], ahead: str) -> str | None:
    """What kind of picture all these lines are of, or None where one of them is something else.

    `ahead` is what stands in front of them. Blank lines are nothing.
    """
    told = [_sort(line) for line in lines if line.strip()]
    if not told or "" in told:
        return None
    sorts = set(told)
    if sorts != {"path"}:
        return next(sort for sort in told if sort != "path")
    last = [line for line in ahead[-600:].rstrip().split("\n") if line.strip()][-1:]
    near = bool(last) and (_sort(last[0]) in {"path", "file tree"} or _HEADING.search(last[0]))
    return "file list" if near or len(told) > 2 else None


def pictures(line: str) -> bool:
    """Whether a line by itself may be part of a picture; a blank one is."""
    return not line.strip() or bool(_sort(line))


def _sort(line: str) -> str:
    if len(line) > 600:
        return ""
    if _GIT.match(line) or _PORCELAIN.match(line) or _COMMIT.match(line) or _DIFFSTAT.match(line):
        return "git status"
    if _TREE.match(line) or _LISTING.match(line):
        return "file tree"
    if _FIELD.match(line):
        return "environment field"
    bare = line.strip()
    if _PATH.match(line) and ("/" in bare or re.search(r"\.\w{1,8}$", bare)):
        return "path"
    return ""
