"""What was changed, and what to do about it: a line each, by perturbation, and by what differs."""

from collections.abc import Mapping

from stemcache.integrations.stability_world import Perturbation

__all__ = ["advice", "changed"]

_CHANGED: Mapping[Perturbation, str] = {
    Perturbation.AGAIN: "nothing: it was called again, with clocks, ids and orders as before",
    Perturbation.CLOCK: "the clock: time.time(), time.monotonic(), datetime.now(), date.today()",
    Perturbation.ZONE: "the time zone: TZ",
    Perturbation.ID: "ids: uuid1(), uuid4(), secrets, os.urandom()",
    Perturbation.RANDOM: "chance: the seeds of random and numpy.random",
    Perturbation.ADDRESS: "where objects lie in memory: id(), the default repr",
    Perturbation.ARGUMENTS: "the order of keys in the dictionaries that the builder is given",
    Perturbation.DIRECTORY: "the order in which directories are listed",
    Perturbation.LOCALE: "the locale: LC_NUMERIC, LC_TIME, LC_MONETARY, LC_COLLATE",
    Perturbation.ENVIRONMENT: (
        "the environment: USER, HOME, HOSTNAME, PWD, COLUMNS, the working directory, the process's "
        "number, the place of temporary files, the number of processors, the kernel's and Python's "
        "version"
    ),
    Perturbation.PROCESS: "the process, and so addresses, its number, what is made at import",
    Perturbation.HASH: "PYTHONHASHSEED, and so the order of sets of strings",
    Perturbation.ENCODING: "the encoding that files are read in where none is named",
}
_ADVICE: Mapping[Perturbation, str] = {
    Perturbation.AGAIN: (
        "build from the arguments alone: state is kept from call to call (a counter, a list that "
        "grows, an argument's default), or a source is asked that is not under control here"
    ),
    Perturbation.CLOCK: (
        "say the time in the last user message, behind the last marker, or give the builder a "
        "fixed one"
    ),
    Perturbation.ZONE: "name the zone, datetime.now(UTC), or say local time behind the last marker",
    Perturbation.ID: "make ids outside, once a conversation, or say them behind the last marker",
    Perturbation.RANDOM: "choose with a generator of your own: Random(seed).sample(…)",
    Perturbation.ADDRESS: "define __repr__, or write the fields that are meant",
    Perturbation.ARGUMENTS: "sort what is given: sorted(x.items()), json.dumps(x, sort_keys=True)",
    Perturbation.DIRECTORY: "sort what is listed: sorted(path.iterdir()), sorted(glob(…))",
    Perturbation.LOCALE: "format without it: f'{n:,}', isoformat(), sorted() without strxfrm",
    Perturbation.ENVIRONMENT: "take it out of the prefix, or say it behind the last marker",
    Perturbation.PROCESS: "write no address and no number of a process, and nothing of its start",
    Perturbation.HASH: "sort it: sorted(names); dict.fromkeys(names) keeps the order given",
    Perturbation.ENCODING: "name it: open(path, encoding='utf-8')",
}
_BY_KIND = (
    ("the address of an object", _ADVICE[Perturbation.ADDRESS]),
    ("a temporary path", "name no temporary file in the prefix, or give it a fixed name"),
    ("the order of keys", _ADVICE[Perturbation.ARGUMENTS]),
    ("the last digits of a number", "sum in one order, math.fsum(…), or round before writing"),
    ("the marker behind it", "place markers by what stands in the prompt, not by what varies"),
    ("a parameter", "fix it for a conversation"),
)


def changed(cause: Perturbation | str) -> str:
    """What was changed; a text is the name of an environment variable."""
    if isinstance(cause, Perturbation):
        return _CHANGED[cause]
    return f"the environment variable {cause}"


def advice(cause: Perturbation | str, kind: str) -> str:
    """What to do. What differs tells more than what it differed by."""
    for start, told in _BY_KIND:
        if kind.startswith(start):
            return told
    if isinstance(cause, Perturbation):
        return _ADVICE[cause]
    return f"take it out of the prefix, or let it differ: allow={{'${cause}'}}"
