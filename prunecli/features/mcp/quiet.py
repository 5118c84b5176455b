"""Keeps the log of the SDK off the terminal."""

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
