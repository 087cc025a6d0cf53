"""The commands: options, progress, exit statuses; no logic."""
