"""`kvlint`, and `python -m kvlint`, which is the same command."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

INTERNAL_ERROR = 2


def main() -> None:
    """Run the command line and exit; whatever happens, no traceback reaches the user."""
    _open_closed_streams()
    arguments = [_spelt_out(argument) for argument in sys.argv[1:]]
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        status = _leave_quietly(1)
    except KeyboardInterrupt:
        status = 130
    except Exception as error:  # the last resort: a traceback would help nobody at a terminal
        fault = _fault_of_output(error)
        if not fault and os.environ.get("KVLINT_TRACEBACK"):
            raise
        status = _complain(fault or _internal(error))
    sys.exit(status)


def _run(arguments: Sequence[str]) -> int | str | None:
    """The exit status of a command."""
    from kvlint.cli.app import build, command_in
    from kvlint.errors import UsageError

    try:
        build(command_in(arguments))(arguments, prog_name="kvlint")
    except UsageError as error:
        return _complain(f"error: {error}")
    except SystemExit as end:
        return end.code
    return 0


def _spelt_out(argument: str) -> str:
    """Typer has no options with an optional value: `--add-ignore` alone is `--add-ignore=`."""
    return "--add-ignore=" if argument == "--add-ignore" else argument


def _open_closed_streams() -> None:
    """Daemons start programs with output closed: what is written there is for nobody.

    The lowest descriptor that is free is taken, so that no file that is opened later becomes
    standard output.
    """
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def _complain(text: str) -> int:
    with suppress(OSError):  # standard error may be what fails
        print(f"kvlint: {text}", file=sys.stderr)
    return INTERNAL_ERROR


def _fault_of_output(error: Exception) -> str:
    """What is wrong with standard output where that ended the command, else an empty text.

    An error of a stream names no file; those of files are met where the files are used.
    """
    if not isinstance(error, OSError) or error.filename is not None:
        return ""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF):
        return ""
    _leave_quietly(INTERNAL_ERROR)
    return f"error: standard output: cannot be written: {error.strerror or error}"


def _internal(error: Exception) -> str:
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return (
        f"internal error: {what}\nThis is a bug in kvlint. Please report it with the output of the"
        " same command under KVLINT_TRACEBACK=1."
    )


def _leave_quietly(status: int) -> int:
    """Nobody takes the output any more: let Python's own shutdown not complain about the rest."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


if __name__ == "__main__":
    main()
