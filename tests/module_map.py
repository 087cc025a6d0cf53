"""The map of kvlint's modules, made from their imports and docstrings: docs/modules.md.

python -m tests.module_map
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "kvlint"
PAGE = ROOT / "docs" / "modules.md"
HEAD = """# The modules

Made from the imports and docstrings by `make golden`. Arrows between packages run one way; a
test keeps it so.
"""


def module_files() -> dict[str, Path]:
    """Dotted name below `kvlint` -> file; a package goes by its `__init__`."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts)] = path
    return found


def imports(files: dict[str, Path]) -> dict[str, set[str]]:
    """Module -> the modules that it imports, those inside functions and for types included."""
    return {name: set(_imported(path, files)) - {name} for name, path in files.items()}


def _imported(path: Path, files: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kvlint":
            base = (node.module or "").removeprefix("kvlint").removeprefix(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".removeprefix(".")
                yield from (name for name in (inner, base) if name in files)
        elif isinstance(node, ast.Import):
            names = (alias.name.removeprefix("kvlint.") for alias in node.names)
            yield from (name for name in names if name in files)


def package_of(module: str) -> str:
    return module.partition(".")[0]


def arrows(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Package -> the packages that it imports."""
    found: dict[str, set[str]] = {}
    for module, targets in graph.items():
        here = package_of(module)
        found.setdefault(here, set()).update(map(package_of, targets))
        found[here].discard(here)
    return found


def circles(graph: dict[str, set[str]]) -> set[str]:
    """The nodes from which a way leads back to themselves."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        pending = [start]
        while pending:
            for target in graph.get(pending.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
        return seen

    return {node for node in graph if node in reached(node)}


def page() -> str:
    files = module_files()
    between = arrows(imports(files))
    lines = [HEAD]
    for package in sorted({package_of(name) for name in files if "." in name}):
        init = files[f"{package}.__init__"]
        lines += [f"## {package}", "", _says(init), ""]
        below = ", ".join(sorted(name for name in between[package] if name != "__init__"))
        lines += [f"Imports: {below or 'nothing of kvlint'}.", ""]
        lines += ["| Module | Holds |", "| --- | --- |"]
        for name, path in files.items():
            if package_of(name) == package and not name.endswith("__init__"):
                lines.append(f"| `{name.partition('.')[2]}` | {_says(path)} |")
        lines.append("")
    return "\n".join(lines)


def _says(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
