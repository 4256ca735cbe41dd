"""The garbage collector of a server process: short pauses.

A full collection looks at every object while all threads stand still: 150 ms with five systems loaded, every few
seconds under load. Nearly all of these objects are modules, classes, designs and compiled plans, which stay until the
process ends. They are frozen, so that collections leave them out: once when the server starts, and again when the first
requests and changes have compiled what they need. What is frozen and no longer used stays in memory; twice in the life
of a process, that is little.
"""

import asyncio
import gc

WARM_SECONDS = 30.0


def freeze_loaded_objects() -> None:
    """Freezes what exists now, and once more what is added while the server warms up; needs a running event loop."""
    _freeze()
    asyncio.get_running_loop().call_later(WARM_SECONDS, _freeze)


def _freeze() -> None:
    gc.collect()  # so that no garbage is frozen
    gc.freeze()
