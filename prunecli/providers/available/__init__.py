"""The providers, one file each; the file's name is the provider's name in `[model] provider`."""
