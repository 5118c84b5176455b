"""Whether a call may run, and where: permissions, trust, the sandbox, secrets."""
