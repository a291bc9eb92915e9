"""A picture of the environment, taken anew, stands in front of text that is sent again.

## What it finds

Lines that picture where a program runs and that differ from the request before: git branch,
status and commits, lists and trees of files, working directory, host, processes, load, open
files, and what is left of a budget of tokens.

## Why it costs

Such a picture changes while work goes on, most often because of that work: each edited file is
one more line of git status. It stands in the system prompt, so each change writes the whole
history anew.

## Example

```diff
  system
  gitStatus: branch main
-  M src/app.py
+  M src/app.py
+ ?? src/new.py
  You are a coding agent. …
```

## Use instead

Take the picture once, when the session starts, say so in the text, and send the same bytes on
every turn. What changed since is the business of the newest user message, or of a tool that the
model calls when it wants to know. Keep lists short and sorted.

## Limits

Told by whole lines. A list of paths counts only beside others of its kind or under a heading that
names files. Settings written in another way (`We run on host a7`) are edits to this rule.

## References

- anthropics/claude-code#47107: git status in the system prompt
- anomalyco/opencode#5224: a list of 200 files
- Hmbown/Codewhale#979: a tree of the project
- cnighswonger/claude-code-cache-fix#11
- Anthropic, *Prompt caching*
"""

from stemcache.lint.rule import LintRule

__all__ = ["RULE"]

RULE = LintRule(
    code="STM103",
    name="environment-snapshot",
    kind="environment",
    summary="Git status, files, host or budget, taken anew ahead of text that is sent again.",
    help=(
        "Take the {what} once a session and send the same bytes on every turn; what changes since"
        " then goes to the end of the newest user message, or behind a tool that the model calls."
    ),
    page=__doc__ or "",
)
