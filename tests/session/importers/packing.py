"""Packs test data with zstd."""

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import compress
else:
    from backports.zstd import compress

__all__ = ["compress"]
