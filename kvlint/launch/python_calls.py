"""Calls that configure or start SGLang: `ServerArgs`, engines, runtimes, processes."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from kvlint.launch.arguments import (
    UNKNOWN,
    Argument,
    LaunchConfiguration,
    Value,
    Word,
    read_argv,
)
from kvlint.launch.commands import names_the_pool
from kvlint.launch.engines import is_completion, is_decoding_method, split_url
from kvlint.launch.python_commands import Commands
from kvlint.launch.python_syntax import FunctionNode
from kvlint.launch.python_text import (
    call_addition,
    keyword_argument,
)
from kvlint.launch.python_values import (
    Client,
    Config,
    DictOf,
    Element,
    Entry,
    Evaluated,
    Function,
    Known,
    ListOf,
    Member,
    OneOf,
    Partial,
    Symbol,
    Target,
    Text,
    copied,
)

if TYPE_CHECKING:
    from kvlint.launch.python_program import Program

_ENGINES = ("Engine", "Runtime", "HttpServerEngineAdapter", "RayEngine")
_LAUNCHERS = ("popen_launch_server", "popen_launch_pd_server")
_ARGV_READERS = ("prepare_server_args",)
_SHELLS = frozenset(
    {
        "Popen",
        "call",
        "check_call",
        "check_output",
        "create_subprocess_shell",
        "execute_shell_command",
        "getoutput",
        "getstatusoutput",
        "launch_server_cmd",
        "popen",
        "run",
        "run_command",
        "spawn",
        "split",
        "system",
    }
)
_REMOTE_SHELLS = frozenset({"run", "exec", "exec_command", "execute", "system", "send_keys"})
_CLIENTS = frozenset({"Client", "OpenAI", "AsyncOpenAI", "AsyncClient"})
_POSTS = frozenset({"post", "request", "urlopen", "stream", "Request", "async_request"})
_STATED = Known | OneOf
_ORDER = ("model", "base_url", "timeout", "api_key", "other_args")


class Calls:
    """Reads the calls of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.commands = Commands(program)
        self.reads_options = False
        """A parser of this file has SGLang's options."""

    def call(self, node: ast.Call) -> Evaluated:
        function = self.program.expressions.called(node.func)
        positional, keywords = self.arguments(node)
        match function:
            case Target(name=name):
                return self.imported(node, name, positional, keywords)
            case Member(owner=owner, path=path):
                return self.member(node, owner, path, positional, keywords)
            case Function(node=definition):
                return self.local(node, definition, positional, keywords)
            case Partial(target=target, keywords=bound):
                merged = DictOf({**bound.entries, **keywords.entries}, keywords.complete, node)
                merged.complete = keywords.complete and bound.complete
                return self.imported(node, target.name, positional, merged)
            case Symbol(name=name) if name.startswith("name:"):
                return self.builtin(node, name[5:], positional, keywords)
        self.commands.passed(node, positional, keywords)
        return Symbol(f"call:{id(node)}")

    def arguments(self, node: ast.Call) -> tuple[list[Element], DictOf]:
        positional: list[Element] = []
        for argument in node.args:
            value = self.program.evaluate(argument)
            if isinstance(argument, ast.Starred):
                positional.extend(self.program.expressions.spread(value, argument))
            else:
                positional.append(Element(value, argument))
        keywords = DictOf({}, True, node)
        for keyword in node.keywords:
            value = self.program.evaluate(keyword.value)
            if keyword.arg is not None:
                keywords.entries[keyword.arg] = Entry(value, keyword, keyword.value)
            elif isinstance(value, DictOf):
                value.taken = True
                for key, entry in value.entries.items():
                    keywords.entries.setdefault(key, entry)
                keywords.complete = keywords.complete and value.complete
            else:
                keywords.complete = False
        return positional, keywords

    def imported(
        self, node: ast.Call, name: str, positional: list[Element], keywords: DictOf
    ) -> Evaluated:
        last = name.rpartition(".")[2]
        sglangs = name.startswith("sglang.") and "multimodal_gen" not in name
        if sglangs and last == "ServerArgs":
            return self.server_args(node, positional, keywords)
        if sglangs and last in _ENGINES:
            return self.engine(node, positional, keywords)
        if last in _LAUNCHERS and (sglangs or name.startswith(".")):
            return self.launched(node, positional, keywords)
        if sglangs and last in _ARGV_READERS and positional:
            return self.argv_config(node, positional[0].value)
        if sglangs and last == "add_cli_args":
            self.reads_options = True
        if sglangs and last == "from_cli_args" and positional:
            self.commands.passed(node, positional, keywords)
            return copied(positional[0].value)
        if name == "dataclasses.replace" and positional:
            return self.replaced(node, positional[0].value, keywords)
        if name in ("copy.copy", "copy.deepcopy") and positional:
            held = positional[0].value
            if isinstance(held, Config):
                return self.made(node, held.kind, dict(held.arguments), held.complete)
            return copied(held)
        if name == "functools.partial" and positional:
            target = positional[0].value
            if isinstance(target, Target):
                return Partial(target, node, keywords)
        if last in _CLIENTS and "base_url" in keywords.entries:
            address, _ = split_url(keywords.entries["base_url"].value)
            if address is not None:
                return Client(address)
        if last in _POSTS:
            self.request(node, last, positional, keywords)
        if last in _SHELLS:
            return self.commands.process(node, positional, keywords)
        self.commands.passed(node, positional, keywords)
        return Symbol(f"call:{id(node)}")

    def builtin(
        self, node: ast.Call, name: str, positional: list[Element], keywords: DictOf
    ) -> Evaluated:
        if name == "dict":
            for element in positional:
                self.program.expressions.merge(keywords, element.value)
            if not self.program.guarded:
                self.program.dicts[id(node)] = keywords
            return keywords
        if name in ("list", "tuple") and len(positional) == 1:
            held = positional[0].value
            if isinstance(held, ListOf):
                held.taken = True
                return ListOf(list(held.items), held.node)
        if name == "str" and len(positional) == 1:
            parts = list(self.program.expressions.text_parts(positional[0].value, node))
            return self.program.expressions.text(parts, node)
        if name == "setattr" and len(positional) == 3:
            self.set_attribute(positional)
        else:
            self.commands.passed(node, positional, keywords)
        return Symbol(f"call:{id(node)}")

    def set_attribute(self, positional: list[Element]) -> None:
        owner, attribute, value = positional
        if not isinstance(owner.value, Config):
            return
        if isinstance(attribute.value, Known) and isinstance(attribute.value.value, str):
            self.set_option(owner.value, attribute.value.value, value.value, value.node, value.node)
        else:
            for name, argument in owner.value.arguments.items():
                owner.value.arguments[name] = replace(argument, value=UNKNOWN)
            owner.value.complete = False

    def local(
        self,
        node: ast.Call,
        definition: FunctionNode,
        positional: list[Element],
        keywords: DictOf,
    ) -> Evaluated:
        """A function of this file; read again with the engines, clients and constants that it is
        given."""
        given = self.bound(definition, positional, keywords)
        followed = {n: v for n, v in given.items() if isinstance(v, Config | Client | _STATED)}
        engines = self.program.engines
        if any(isinstance(value, _STATED) for value in followed.values()):
            self.program.engines = {}
        value, started = self.program.definitions.function_result(definition, given=followed)
        self.program.servers.extend(started)
        if self.program.engines is not engines:
            made, self.program.engines = self.program.engines, engines
            self.keep(made, value)
        return copied(value)

    def bound(
        self, definition: FunctionNode, positional: list[Element], keywords: DictOf
    ) -> dict[str, Evaluated]:
        """Parameters by what a call gives them, and constants by default."""
        arguments = definition.args
        names = [*arguments.posonlyargs, *arguments.args]
        given = {name.arg: e.value for name, e in zip(names, positional, strict=False)}
        own = {name.arg for name in (*names, *arguments.kwonlyargs)}
        given.update({n: entry.value for n, entry in keywords.entries.items() if n in own})
        stated = any(isinstance(value, _STATED) for value in given.values())
        if not stated or not keywords.complete or any(e.expanded for e in positional):
            return given
        filled = names[len(names) - len(arguments.defaults) :]
        defaults = [*zip(filled, arguments.defaults, strict=True)]
        defaults += [
            (name, default)
            for name, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if default is not None
        ]
        for name, default in defaults:
            if isinstance(default, ast.Constant):
                given.setdefault(name.arg, self.program.evaluate(default))
        return given

    def keep(self, made: dict[int, Config], result: Evaluated) -> None:
        """Engines of one call of a function: another call makes others of the same expressions.
        What is handed back may change yet."""
        for origin, config in made.items():
            handed_back = isinstance(result, Config) and result.origin is config.origin
            if (handed_back and config.kind == "args") or origin in self.program.engines:
                self.program.engines[origin] = config
            elif not config.guarded:
                self.program.launches.append(config.configuration(self.program.plugins))

    def member(
        self,
        node: ast.Call,
        owner: Evaluated,
        path: tuple[str, ...],
        positional: list[Element],
        keywords: DictOf,
    ) -> Evaluated:
        method = path[-1]
        match owner:
            case ListOf() if method in ("append", "extend", "insert", "copy"):
                return self.list_method(node, owner, method, positional)
            case DictOf() if method in ("update", "setdefault", "copy", "get", "pop"):
                return self.dict_method(node, owner, method, positional, keywords)
            case Config() if is_decoding_method(method):
                self.decode(owner, path, node.func)
                return Symbol(f"call:{id(node)}")
            case Client(address=address) if is_completion(path):
                if not self.program.guarded:
                    self.program.decoder.client_call(node.func, address, self.program.servers)
                return Symbol(f"call:{id(node)}")
            case Known() | Text() if method in ("split", "format", "strip", "join"):
                return self.text_method(node, owner, method)
        if method in _POSTS:
            self.request(node, method, positional, keywords)
        if method == "parse_args" and positional and isinstance(positional[0].value, ListOf):
            return self.argv_config(node, positional[0].value, sure=self.reads_options)
        if method in _REMOTE_SHELLS and positional and self.holds_command(positional[0].value):
            return self.commands.process(node, positional, keywords)
        self.commands.passed(node, positional, keywords)
        return Symbol(f"call:{id(node)}")

    def decode(self, owner: Config, path: tuple[str, ...], stated: ast.expr) -> None:
        """A method of an engine that is called, or given to what calls it."""
        if owner.kind != "engine" or not owner.embeds or self.program.guarded:
            return
        if len(path) == 1 and is_decoding_method(path[0]):
            started = owner.arguments["is_embedding"].place
            self.program.decoder.report(stated, started, f"`{path[0]}`")

    def holds_command(self, value: Evaluated) -> bool:
        if not isinstance(value, Known | Text):
            return False
        text = str(value.value) if isinstance(value, Known) else str(value.parts)
        return "sglang.launch_server" in text or "sglang serve" in text

    def list_method(
        self, node: ast.Call, owner: ListOf, method: str, positional: list[Element]
    ) -> Evaluated:
        if method == "copy":
            owner.taken = True
            return ListOf(list(owner.items), owner.node)
        if method == "append" and positional:
            owner.items.append(positional[0])
        elif method == "extend" and positional:
            self.program.expressions.extend(owner, positional[0].value, positional[0].node)
        else:
            owner.items.append(Element(Symbol(f"inserted:{id(node)}"), node, expanded=True))
        return Symbol(f"call:{id(node)}")

    def dict_method(
        self,
        node: ast.Call,
        owner: DictOf,
        method: str,
        positional: list[Element],
        keywords: DictOf,
    ) -> Evaluated:
        key = positional[0].value if positional else None
        name = key.value if isinstance(key, Known) and isinstance(key.value, str) else None
        if method == "update":
            for element in positional:
                self.program.expressions.merge(owner, element.value)
            if keywords.complete:
                owner.entries.update(keywords.entries)
            else:
                self.program.expressions.forget(owner)
        elif method == "copy":
            owner.taken = True
            return DictOf(dict(owner.entries), owner.complete, owner.node)
        elif method == "setdefault" and name is not None and len(positional) == 2:
            default = positional[1]
            owner.entries.setdefault(name, Entry(default.value, default.node, default.node))
        elif method == "pop":
            if name is None:
                self.program.expressions.forget(owner)
            else:
                owner.entries.pop(name, None)
        elif method == "get" and name in owner.entries:
            return owner.entries[name].value
        return Symbol(f"call:{id(node)}")

    def text_method(self, node: ast.Call, owner: Known | Text, method: str) -> Evaluated:
        if method == "strip" and isinstance(owner, Known):
            return owner
        if method == "join" and len(node.args) == 1:
            return self.program.evaluate(node.args[0])
        if method != "split" or node.args:
            return Symbol(f"call:{id(node)}")
        words = self.commands.shell_words(owner)
        if words is None:
            return Symbol(f"call:{id(node)}")
        return ListOf([], None, words=words)

    def server_args(self, node: ast.Call, positional: list[Element], keywords: DictOf) -> Config:
        arguments = self.options(keywords)
        complete = keywords.complete and not any(element.expanded for element in positional)
        if positional and not positional[0].expanded:
            first = positional[0]
            arguments["model_path"] = self.option("model_path", first.value, first.node, first.node)
        return self.made(node, "args", arguments, complete and len(positional) < 2)

    def engine(self, node: ast.Call, positional: list[Element], keywords: DictOf) -> Config:
        given = keywords.entries.get("server_args")
        if given is not None and isinstance(given.value, Config):
            held = given.value
            return Config("engine", dict(held.arguments), held.complete, node, None, guarded=True)
        arguments = self.options(keywords)
        complete = keywords.complete and given is None
        return self.made(node, "engine", arguments, complete and not positional)

    def made(
        self, node: ast.Call, kind: str, arguments: dict[str, Argument], complete: bool
    ) -> Config:
        addition = call_addition(self.program.source, node)
        config = Config(
            "engine" if kind == "engine" else "args",
            arguments,
            complete,
            node,
            addition,
            guarded=bool(self.program.guarded),
        )
        self.program.engines[id(node)] = config
        return config

    def options(self, keywords: DictOf) -> dict[str, Argument]:
        return {
            name: self.option(name, entry.value, entry.node, entry.value_node)
            for name, entry in keywords.entries.items()
        }

    def option(self, name: str, value: Evaluated, node: ast.AST, value_node: ast.expr) -> Argument:
        held: Value = value.value if isinstance(value, Known) else UNKNOWN
        stated = keyword_argument(self.program.source, name, held, node, value_node)
        return replace(stated, choice=value.choice) if isinstance(value, OneOf) else stated

    def set_option(
        self, config: Config, name: str, value: Evaluated, target: ast.AST, node: ast.expr
    ) -> None:
        """A later assignment, `args.attention_backend = "triton"`."""
        config.arguments[name] = self.option(name, value, target, node)
        config.guarded = config.guarded or bool(self.program.guarded)

    def replaced(self, node: ast.Call, base: Evaluated, keywords: DictOf) -> Evaluated:
        if not isinstance(base, Config):
            return Symbol(f"call:{id(node)}")
        arguments = {**base.arguments, **self.options(keywords)}
        return self.made(node, base.kind, arguments, base.complete and keywords.complete)

    def argv_config(self, node: ast.Call, value: Evaluated, *, sure: bool = True) -> Evaluated:
        """`prepare_server_args([...])`, or a parser that reads a list."""
        if not isinstance(value, ListOf):
            return Symbol(f"call:{id(node)}")
        words = self.commands.words(value)
        if not sure and not names_the_pool(words):
            return Symbol(f"call:{id(node)}")
        value.taken = True
        arguments, complete = read_argv(words, self.program.facts)
        config = self.made(node, "args", arguments, complete and sure)
        config.addition = self.commands.argv_addition(value, words)
        return config

    def launched(self, node: ast.Call, positional: list[Element], keywords: DictOf) -> Evaluated:
        """`popen_launch_server(model, base_url, ..., other_args=[...])`."""
        given = {name: element.value for name, element in zip(_ORDER, positional, strict=False)}
        given.update({name: entry.value for name, entry in keywords.entries.items()})
        value = given.get("other_args")
        words: list[Word] = []
        complete = keywords.complete and not any(element.expanded for element in positional)
        if isinstance(value, ListOf):
            value.taken = True
            words = self.commands.words(value)
        elif value is not None and not (isinstance(value, Known) and value.value is None):
            complete = False
        arguments, all_visible = read_argv(words, self.program.facts)
        addition = self.commands.argv_addition(value, words) if isinstance(value, ListOf) else None
        configuration = LaunchConfiguration(
            arguments,
            complete and all_visible,
            addition=addition,
            plugin_backends=self.program.plugins,
        )
        address = split_url(given["base_url"])[0] if "base_url" in given else None
        return self.commands.started(configuration, address)

    def request(
        self, node: ast.Call, method: str, positional: list[Element], keywords: DictOf
    ) -> None:
        position = 1 if method in ("request", "stream") else 0
        entry = keywords.entries.get("url")
        url = positional[position].value if len(positional) > position else None
        url = entry.value if entry is not None else url
        if url is not None and not self.program.guarded:
            self.program.decoder.request(node.func, url, self.program.servers)
