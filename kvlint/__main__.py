"""`kvlint`, and `python -m kvlint`, which is the same command."""

from __future__ import annotations

import os
import sys

INTERNAL_ERROR = 2


def main() -> None:
    """Run the command line and exit; whatever happens, no traceback reaches the user."""
    from kvlint.cli import build, command_in
    from kvlint.errors import UsageError

    arguments = [_spelt_out(argument) for argument in sys.argv[1:]]
    try:
        build(command_in(arguments))(arguments, prog_name="kvlint")
    except UsageError as error:
        sys.exit(_complain(f"error: {error}"))
    except BrokenPipeError:
        _close_quietly()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # the last resort: a traceback would help nobody at a terminal
        if os.environ.get("KVLINT_TRACEBACK"):
            raise
        sys.exit(_complain(_internal(error)))


def _spelt_out(argument: str) -> str:
    """Typer has no options with an optional value: `--add-ignore` alone is `--add-ignore=`."""
    return "--add-ignore=" if argument == "--add-ignore" else argument


def _complain(text: str) -> int:
    print(f"kvlint: {text}", file=sys.stderr)
    return INTERNAL_ERROR


def _internal(error: Exception) -> str:
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return (
        f"internal error: {what}\nThis is a bug in kvlint. Please report it with the output of the"
        " same command under KVLINT_TRACEBACK=1."
    )


def _close_quietly() -> None:
    """The reader of the output has gone: leave without a word from Python's own shutdown."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)


if __name__ == "__main__":
    main()
