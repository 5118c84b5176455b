"""What people type who come from another agent."""
