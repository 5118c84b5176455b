"""Lets a field do all of its editing itself, in key order.

Textual passes a key that is a binding to the field's parents, the screen and the application, each with its own
queue. If one of them is busy, Backspace takes effect after letters typed later.
"""

from textual import events
from textual.binding import NoBinding
from textual.widget import Widget


async def run_own_binding(field: Widget, event: events.Key) -> bool:
    """Run the field's own binding for a key where its letters are inserted; False if it has none."""
    try:
        bindings = field._bindings.get_bindings_for_key(event.key)
    except NoBinding:
        return False
    for binding in bindings:
        if await field.app.run_action(binding.action, field):
            event.stop()
            event.prevent_default()
            return True
    return False
