"""Output formats, one module each: `render(report, style)` gives the whole text."""
