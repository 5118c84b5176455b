"""Variables of the environment that Textual reads while it is imported, and raises about."""

from collections.abc import Mapping

from prunecli.errors import UsageError

COLOR_SYSTEMS = ("auto", "standard", "256", "truecolor", "windows")


def check(environ: Mapping[str, str]) -> None:
    """Raises UsageError that names a variable which Textual would not understand."""
    colors = environ.get("TEXTUAL_COLOR_SYSTEM", "auto")
    if colors not in COLOR_SYSTEMS:
        raise UsageError(
            f"TEXTUAL_COLOR_SYSTEM: there is no {colors!r}", f"there are {', '.join(COLOR_SYSTEMS)}"
        )
    if log := environ.get("TEXTUAL_LOG"):
        try:
            with open(log, "a"):
                pass
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"TEXTUAL_LOG: {log}: {why}", "name a file that can be written") from error
