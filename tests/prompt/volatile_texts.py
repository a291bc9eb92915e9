"""Prompts as people write them: those that may stay for good, and those that will not."""

from typing import NamedTuple

from stemcache.prompt.stability import Stability

__all__ = ["CLEAN", "FAULTY", "Faulty"]


class Faulty(NamedTuple):
    """A text with one volatile piece."""

    text: str
    piece: str
    """What is found begins with it."""
    family: str
    what: str
    fits: Stability
    lowest: Stability
    """It is an error at this stability and at all that are more stable."""


CLEAN = {
    "persona": "You are the support agent of a shop for bicycles. Be brief, polite and exact.",
    "opening hours": (
        "Shops are open Monday to Friday from 09:00 to 18:30 CET, on Saturday until 2 pm.\n"
        "Emergency call: 112. Support line: +49 30 1234567."
    ),
    "a law": (
        "Under Regulation (EU) 2016/679 of 27 April 2016, in force since 25 May 2018, a customer\n"
        "may ask for deletion; answer within 30 days."
    ),
    "changelog": (
        "# Changelog\n\n## 2.4.1 - 2026-03-14\n- Fixed the export (#4821, commit 9f86d08).\n\n"
        "## 2.4.0 - 2026-02-01\n- Added filters. Last updated: 2026-02-01."
    ),
    "relative dates": (
        "If today is Friday, say that answers come on Monday. When the current time is\n"
        "after 17:00, offer a call back. If the order was placed 30 minutes ago, it may be changed."
    ),
    "a format": (
        "Dates are ISO 8601, e.g. 2026-11-30T05:14:01Z. Ids are UUIDs such as\n"
        "9b2f0c1e-7a3d-4d55-8f0e-1b2c3d4e5f60; pass them on unchanged."
    ),
    "few shots": (
        "Turn the wish into a query.\n\n<examples>\n<example>\nToday is Monday, 2026-11-30.\n"
        "request_id: 7f3a9c1e\nWhat was sold yesterday? -> 2026-11-29\n</example>\n</examples>\n"
        "Answer with the query alone."
    ),
    "a dialogue": (
        "User: Now it is 05:14:01, are you open?\nAssistant: We open at 9 am.\n"
        "User: My session id: 8842-a11f does not work.\nAssistant: Please log in again."
    ),
    "an example's answer": (
        "Answer in JSON. Example output:\n```json\n"
        '{"created_at": "2026-11-30T05:14:01Z", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}\n'
        "```\n\nNever add text around it."
    ),
    "versions": (
        "The app runs on Python 3.11.9, Node 20.11.1 and PostgreSQL 16.2. Models:\n"
        "gpt-4o-2024-08-06, claude-opus-4-20250514,\n"
        "Qwen2-VL-72B-Instruct-GPTQ-Int4, all-MiniLM-L6-v2."
    ),
    "limits": (
        "The context window is 200,000 tokens. When fewer than 10,000 tokens are left, sum up.\n"
        "Rate limit: 60 requests per 1 minute; session timeout: 30 minutes; at most 5 attempts."
    ),
    "colours and sizes": "Colours: #1a2b3c, #00ff7f. Logo: 512x512 px, 24-bit, at most 300 kB.",
    "a project's tree": (
        "The repository:\n├── src\n│   └── app.py\n├── tests\n└── README.md\n"
        "Run `git status` before you commit, and never push to main."
    ),
    "supported platforms": (
        "Platform: Linux, macOS, Windows. Shell: bash or zsh. Python: 3.11 or later."
    ),
    "plan": (
        "Release plan: freeze on 2026-12-01, release on 2026-12-15 at 10:00 UTC.\n"
        "The contract runs until 2027-12-31T23:59:59Z. The keynote begins on 2026-05-04 09:00."
    ),
    "numbers": (
        "Test card 4111111111111111, ISBN 9783161484100, SKU 1732943641, invoice 20261130. Pi is\n"
        "3.14159; the ratio is 16:9; the score was 3:2; verse 4:12; 24/7 support."
    ),
    "pins": (
        "Image: app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n"
        "md5: 098f6bcd4621d373cade4e832627b4f6, tag v1.2.3, commit "
        "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"
    ),
    "links": (
        "See https://example.com/docs/2024/05/01/returns and\n"
        "https://github.com/attachments/4caeb77e-48c0-4cf7-b14d-c53ded855ffd for pictures."
    ),
    "a chain of thought": (
        "Step 1: read the ticket. Step 2: look up the order. Message 1: greet. Message 2: solve.\n"
        "Ask at most 3 questions. Turn 90 degrees left at marker 12."
    ),
    "plans and lists": (
        "As of 1 January 2026 returns are free. As of 2026-12-01 00:00 UTC fees rise.\n"
        "Maintenance:\n2026-12-04 22:00\n- 2026-12-05 06:37\n| 2026-12-06 06:38 | Bonn |\n"
        "The keynote begins on Nov 30, 2026 10:02 AM."
    ),
    "commits and processes": (
        "Bisect:\n- commit 3f2a1bc\n- commit deadbee is bad\nFixed in commit 3f2a1bc.\n"
        "If pid 4211 dies, start it again. Commit early."
    ),
    "words about time": (
        "Always use the current date and time from the last message. Tell the user what time it\n"
        "is now if asked. Do not guess today's date. Answers take about 5 minutes, sessions a day."
    ),
    "hours and lengths": (
        "Open 9:00-17:30, on Saturday 10:00-14:00. Calls end after 00:05:00. It is 30 minutes to\n"
        "the lake; if it is 17:00:01, we are closed. Orders placed 14 days ago may go back.\n"
        "Empty ids are 00000000-0000-0000-0000-000000000000, empty addresses 0x7f6a03fbbc90."
    ),
}
"""May stand in any segment, static ones included."""

_STATIC, _REFERENCE, _SESSION, _TURN = Stability

FAULTY = {
    "clock to the second": Faulty(
        "You are a support agent. Current time: 05:14:01. Be brief.",
        "05:14:01",
        "clock",
        "a clock time with seconds",
        _TURN,
        _SESSION,
    ),
    "clock in a sentence": Faulty(
        "The current date and time is Monday, November 30, 2026 at 05:14 UTC.",
        "Monday, November 30",
        "clock",
        "a date in words with minutes",
        _TURN,
        _SESSION,
    ),
    "heading and clock": Faulty(
        "## Current time\n2026-11-30T05:14:01.123Z\n\n## Rules\nBe brief.",
        "2026-11-30",
        "clock",
        "an ISO time with fractions of a second",
        _TURN,
        _SESSION,
    ),
    "tag and clock": Faulty(
        "<context><current_datetime>2026-11-30 05:14</current_datetime></context>",
        "2026-11-30",
        "clock",
        "an ISO time with minutes",
        _TURN,
        _SESSION,
    ),
    "today": Faulty(
        "You are a travel agent. Today is 2026-11-30. Book flights.",
        "2026-11-30",
        "clock",
        "an ISO date",
        _SESSION,
        _REFERENCE,
    ),
    "today's weekday": Faulty(
        "Rules first.\nToday is Monday.", "Monday", "clock", "a weekday", _SESSION, _REFERENCE
    ),
    "JSON with now": Faulty(
        '{"user": "ann", "now": "2026-11-30T05:14:01+00:00", "plan": "pro"}',
        "2026-11-30",
        "clock",
        "an ISO time with seconds",
        _TURN,
        _SESSION,
    ),
    "stamp of a snapshot": Faulty(
        "Schema snapshot taken 2026-11-30 05:14:01.123456789\nTABLE orders (id, total)",
        "2026-11-30",
        "clock",
        "an ISO time with fractions of a second",
        _SESSION,
        _REFERENCE,
    ),
    "bare time": Faulty(
        "2026-11-30T05:14:01Z\nYou are a support agent.",
        "2026-11-30",
        "clock",
        "an ISO time with seconds",
        _TURN,
        _STATIC,
    ),
    "Unix time": Faulty(
        "timestamp: 1796015641\nYou are a support agent.",
        "1796015641",
        "clock",
        "a Unix time",
        _TURN,
        _STATIC,
    ),
    "age of a message": Faulty(
        "Memory: the user moved to Rome.\nLast message: 3 minutes ago",
        "3 minutes ago",
        "clock",
        "a relative time",
        _TURN,
        _SESSION,
    ),
    "uptime": Faulty(
        "Agent runtime\nUptime: 4:12:09", "4:12:09", "clock", "a duration", _TURN, _SESSION
    ),
    "billing header": Faulty(
        "x-anthropic-billing-header: cc_version=2.1.222.a1b; cch=8f3a9;\nYou are an agent.",
        "x-anthropic",
        "injected-id",
        "a billing header",
        _TURN,
        _SESSION,
    ),
    "request id": Faulty(
        "You are an agent.\nRequest-Id: 9b2f0c1e-7a3d-4d55-8f0e-1b2c3d4e5f60",
        "Request-Id",
        "injected-id",
        "an id",
        _TURN,
        _SESSION,
    ),
    "session id": Faulty(
        "session_id=8842a11f7c\nYou are an agent.",
        "session_id",
        "injected-id",
        "an id",
        _SESSION,
        _REFERENCE,
    ),
    "bare UUID": Faulty(
        "You are an agent (9b2f0c1e-7a3d-4d55-8f0e-1b2c3d4e5f60).",
        "9b2f0c1e",
        "injected-id",
        "a UUID",
        _SESSION,
        _STATIC,
    ),
    "scratch directory": Faulty(
        "Write files to /tmp/tmpk3x_9a2f/out only.",
        "/tmp/",
        "injected-id",
        "a temporary path",
        _SESSION,
        _STATIC,
    ),
    "turn's number": Faulty(
        "You are an agent.\nturn: 7\nBe brief.", "turn", "injected-id", "an id", _TURN, _SESSION
    ),
    "git status": Faulty(
        "You are a coding agent.\ngitStatus:\nOn branch main\n M src/app.py\n?? notes.md\n",
        "gitStatus",
        "environment",
        "git status",
        _SESSION,
        _REFERENCE,
    ),
    "budget": Faulty(
        "You are a coding agent.\nTokens remaining: 181,204",
        "181,204",
        "environment",
        "a token budget",
        _TURN,
        _SESSION,
    ),
    "as of a minute": Faulty(
        "Stock as of 1 December 2026, 10:02 UTC: 4 bicycles.",
        "1 December 2026",
        "clock",
        "a date in words with minutes",
        _TURN,
        _SESSION,
    ),
    "a date and a time alone": Faulty(
        "You are a support agent.\n**Nov 30, 2026 10:02 AM**\nBe brief.",
        "Nov 30",
        "clock",
        "a date in words with minutes",
        _TURN,
        _STATIC,
    ),
    "timestamp without a colon": Faulty(
        "You are a support agent, timestamp 1764583651.",
        "1764583651",
        "clock",
        "a Unix time",
        _TURN,
        _STATIC,
    ),
    "process": Faulty(
        "You watch a server.\n(pid 4211)",
        "(pid",
        "environment",
        "an environment field",
        _SESSION,
        _STATIC,
    ),
    "commit": Faulty(
        "You review code.\nRunning at commit 3f2a1bc",
        "Running",
        "environment",
        "a commit",
        _SESSION,
        _STATIC,
    ),
    "it is": Faulty(
        "It is 10:07:31.\nYou are a support agent.",
        "10:07:31",
        "clock",
        "a clock time with seconds",
        _TURN,
        _SESSION,
    ),
    "it is, of a day": Faulty(
        "Be brief. It's Monday, 30 November 2026.",
        "Monday",
        "clock",
        "a date in words",
        _SESSION,
        _REFERENCE,
    ),
    "label and clock": Faulty(
        "You are a support agent.\nTime: 10:07:31",
        "10:07:31",
        "clock",
        "a clock time with seconds",
        _TURN,
        _SESSION,
    ),
    "a second in a sentence": Faulty(
        "The sensor was read at 10:07:31 and was dry.",
        "10:07:31",
        "clock",
        "a clock time with seconds",
        _TURN,
        _STATIC,
    ),
    "an age alone": Faulty(
        "Ann wrote.\n3 minutes ago\nBe brief.",
        "3 minutes",
        "clock",
        "a relative time",
        _TURN,
        _STATIC,
    ),
    "a UUID of the first kind": Faulty(
        "The shop's id 123e4567-e89b-12d3-a456-426614174000 is yours.",
        "123e4567",
        "injected-id",
        "a UUID",
        _SESSION,
        _STATIC,
    ),
    "a request without a colon": Faulty(
        "Request 123e4567-e89b-42d3-a456-426614174000\nYou are a support agent.",
        "123e4567",
        "injected-id",
        "a UUID",
        _TURN,
        _SESSION,
    ),
    "an object": Faulty(
        "Your helper is <Agent object at 0x7f6a03fbbc90>.",
        "0x7f6a03fbbc90",
        "injected-id",
        "an object's address",
        _TURN,
        _STATIC,
    ),
}
"""One fault each, with what is to be said of it."""
