"""Servers of the Model Context Protocol: their definitions, connections and tools.

This is the only package that imports the SDK (`mcp`, from the extra `prunecli[mcp]`), and only when a server is about
to start.
"""

import logging


def keep_quiet() -> None:
    """Keep the SDK's log off the terminal: it logs each failure with its traceback.

    Its sessions log under the name `client`, which a program that embeds prunecli may use too.
    """
    logger = logging.getLogger("mcp")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    logging.getLogger("client").addFilter(_of_others)


def _of_others(record: logging.LogRecord) -> bool:
    return "/mcp/client/" not in record.pathname
