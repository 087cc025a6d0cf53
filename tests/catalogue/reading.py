"""Class statements as text -> facts and views, for the tests of the catalogue."""

from __future__ import annotations

import ast
import textwrap

from kvlint.catalogue.class_facts import own_facts
from kvlint.catalogue.model import Catalogue, Method, PoolClass
from kvlint.catalogue.resolve import View


def facts(source: str) -> PoolClass:
    """The facts of the only class in the source; its bases keep the names they have there."""
    (own,) = classes(source)
    return own


def method(body: str, name: str = "f") -> Method:
    """The facts of a method of a class with this body."""
    return facts("class C:\n" + textwrap.indent(textwrap.dedent(body), "    ")).methods[name]


def classes(source: str) -> list[PoolClass]:
    tree = ast.parse(textwrap.dedent(source))
    return [
        own_facts(node, node.name, tuple(ast.unparse(base) for base in node.bases))
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    ]


def view(source: str) -> View:
    return View(Catalogue("0", {own.qualname: own for own in classes(source)}))
