"""Prompts that are cacheable by construction: layout, marks, pinning, conversations, keep-alive.

What an application that builds prompts imports is here; the rest is in the modules below.
"""

from stemcache.prompt.conversation.conversation import Conversation
from stemcache.prompt.conversation.rewritten import RewrittenError
from stemcache.prompt.marks.memory import Memory
from stemcache.prompt.message import Message
from stemcache.prompt.part import Document, Image, Text, ToolCall, ToolResult
from stemcache.prompt.request import Layout, Plan
from stemcache.prompt.segment import Segment, reference, session, static, turn
from stemcache.prompt.stability import Stability
from stemcache.prompt.tool import Tool
from stemcache.prompt.volatile.check import VolatileError
from stemcache.wire.api import Api

__all__ = [
    "Api",
    "Conversation",
    "Document",
    "Image",
    "Layout",
    "Memory",
    "Message",
    "Plan",
    "RewrittenError",
    "Segment",
    "Stability",
    "Text",
    "Tool",
    "ToolCall",
    "ToolResult",
    "VolatileError",
    "reference",
    "session",
    "static",
    "turn",
]
