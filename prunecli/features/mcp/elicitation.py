"""Questions from a server to the user (elicitation): fields with a few kinds of values, or a page to open.

The schema comes from the server; anything unknown in it becomes a text field.
"""

from collections.abc import Mapping

from prunecli.features.mcp.definition import url_problem
from prunecli.features.mcp.results import in_line, plain
from prunecli.model.messages import Json
from prunecli.runtime.forms import Elicitation, Field, Kind, finite
from prunecli.util.sanitize import one_line, source

MAX_FIELDS = 20
MAX_CHOICES = 50
MAX_URL = 2_000


def page(server: str, message: str, url: str) -> Elicitation:
    """Return the question to open a page. Raises ValueError for an address that cannot be shown unchanged or is not
    safe."""
    if len(url) > MAX_URL or in_line(url, MAX_URL) != url:
        raise ValueError(f"the url has more than {MAX_URL:,} characters, or invisible ones")
    if problem := url_problem(url):
        raise ValueError(f"the url is not accepted: {problem}")
    return Elicitation(server, source(plain(message[:4_000])).strip(), url=url)


def question(server: str, message: str, schema: Mapping[str, Json]) -> Elicitation:
    """Return the question of a form. Raises ValueError if it has too many fields, or names and choices that cannot be
    shown unchanged, because editors get them as they are."""
    properties = schema.get("properties")
    given = properties if isinstance(properties, Mapping) else {}
    if len(given) > MAX_FIELDS:
        raise ValueError(f"the form has {len(given)} fields; the limit is {MAX_FIELDS}")
    needed = schema.get("required")
    required = (
        frozenset(needed) if isinstance(needed, list) and all(isinstance(n, str) for n in needed) else ()
    )
    fields = [
        _field(str(name), one if isinstance(one, Mapping) else {}, name in required)
        for name, one in given.items()
    ]
    if hidden := [
        field.name for field in fields if any(one_line(text) != text for text in _unchanged(field))
    ]:
        raise ValueError(f"field {in_line(hidden[0], 40)!r} has characters that cannot be shown")
    return Elicitation(server, source(plain(message[:4_000])).strip(), tuple(fields))


def _unchanged(field: Field) -> tuple[str, ...]:
    """Return the texts that the server gets back."""
    return field.name, *(value for value, _ in field.choices)


def _field(name: str, schema: Mapping[str, Json], required: bool) -> Field:
    kind = schema.get("type")
    title = _line(str(schema.get("title") or name), 80)
    choices = _choices(schema)
    of_items = _choices(items) if isinstance(items := schema.get("items"), Mapping) else ()
    found: Kind = "text"
    if choices:
        found = "choice"
    elif kind == "array" and of_items:
        found, choices = "choices", of_items
    elif kind in ("number", "integer", "boolean"):
        found = kind
    low, high = ("minLength", "maxLength") if found == "text" else ("minimum", "maximum")
    return Field(
        name,
        title,
        found,
        _line(str(schema.get("description") or "")),
        choices[:MAX_CHOICES],
        required,
        schema.get("default"),
        _limit(schema.get(low)),
        _limit(schema.get(high)),
    )


def _choices(schema: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    """Return the values and labels of an enumeration, in any of the protocol's three forms."""
    values, labels = schema.get("enum"), schema.get("enumNames")
    if isinstance(values, list):
        named = labels if isinstance(labels, list) and len(labels) == len(values) else values
        return tuple((str(v), _line(str(n), 80)) for v, n in zip(values, named, strict=True))
    for key in ("oneOf", "anyOf"):
        options = schema.get(key)
        if isinstance(options, list) and all(
            isinstance(option, Mapping) and "const" in option for option in options
        ):
            return tuple(
                (str(option["const"]), _line(str(option.get("title", option["const"])), 80))
                for option in options
            )
    return ()


def _line(text: str, most: int = 200) -> str:
    """Return the beginning of the text as one line without hidden characters, because editors show it unchanged."""
    return one_line(in_line(text, most))


def _limit(value: Json) -> float | None:
    try:
        return finite(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    except ValueError:
        return None
