"""Whether a chat template takes a message's content as one text or loops over its parts.

Told from the template's source, as engines do: it loops over parts if a `for` goes over the
`content` of what another `for` takes out of `messages`, or over a name `content`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import nodes

__all__ = ["loops_over_parts"]


def loops_over_parts(tree: "nodes.Template") -> bool:
    """Whether it does. `tree` is the template as parsed."""
    from jinja2 import nodes  # noqa: PLC0415  # comes with the extras `engine` and `route`

    loops = list(tree.find_all(nodes.For))
    lists = _aliases(tree, "messages")
    messages = {
        loop.target.name
        for loop in loops
        if isinstance(loop.target, nodes.Name) and _base(loop.iter) in lists
    }
    for loop in loops:
        over = loop.iter
        while isinstance(over, nodes.Filter | nodes.Test) and over.node is not None:
            over = over.node
        if isinstance(over, nodes.Name) and over.name == "content":
            return True
        if _member(over) == "content" and _base(over) in messages:
            return True
    return False


def _aliases(tree: "nodes.Template", name: str) -> set[str]:
    """The name, and what is set from it or a part of it."""
    from jinja2 import nodes  # noqa: PLC0415

    found = {name}
    assigned = list(tree.find_all(nodes.Assign))
    grew = True
    while grew:
        grew = False
        for one in assigned:
            target = one.target
            if (
                isinstance(target, nodes.Name)
                and target.name not in found
                and _base(one.node) in found
            ):
                found.add(target.name)
                grew = True
    return found


def _base(node: object) -> str | None:
    """The name that a chain of items, attributes, filters and slices begins with."""
    from jinja2 import nodes  # noqa: PLC0415

    while isinstance(node, nodes.Getitem | nodes.Getattr | nodes.Filter | nodes.Test):
        node = node.node
    return node.name if isinstance(node, nodes.Name) else None


def _member(node: object) -> str | None:
    from jinja2 import nodes  # noqa: PLC0415

    if isinstance(node, nodes.Getattr):
        return str(node.attr)
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        return str(node.arg.value)
    return None
