"""The Agent Client Protocol: editors run prunecli as a program and talk to it over its standard streams.

This is a front end like the screen: it reads the same event stream and calls the same methods. Needs the extra `acp`.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from prunecli.errors import UsageError

if TYPE_CHECKING:
    from prunecli.launch_options import Launch

MISSING = "`prunecli acp` needs the extra acp"
INSTALL = "pip install 'prunecli[acp]'"


def run_acp(asked: "Launch", environ: Mapping[str, str]) -> int:
    """Serve an editor over standard input and output until it closes them. Return the exit code.

    `asked` holds the options of every session. Raises UsageError if the protocol's library is missing.
    """
    if find_spec("acp") is None:
        raise UsageError(MISSING, INSTALL)
    from prunecli.acp.serve import serve

    return serve(asked, environ)
