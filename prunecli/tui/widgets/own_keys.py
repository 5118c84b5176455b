"""How a field does all of its own editing, in the order of the keys.

Textual hands a key that is a binding on: to the field's parents, to the screen, to the application, each with a queue
of its own. Where one of them is busy, Backspace takes effect after letters that were typed later.
"""

from textual import events
from textual.binding import NoBinding
from textual.widget import Widget


async def run_own_binding(field: Widget, event: events.Key) -> bool:
    """Do what a key means to a field, where its letters are put in; False where it means nothing."""
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
