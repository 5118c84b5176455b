"""Laws: what holds for every log, property-tested."""
