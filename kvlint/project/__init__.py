"""What a run is told of a project: settings, which files, how they are grouped."""
