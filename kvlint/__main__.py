"""`kvlint`, and `python -m kvlint`, which is the same command."""

import os
import sys


def _working_folder() -> str:
    """Empty where it is gone."""
    try:
        return os.getcwd()  # noqa: PTH109 - nothing else is imported yet
    except OSError:
        return ""


if __name__ == "__main__" and sys.path[:1] in ([""], [_working_folder()]):
    # `python -m` looks for modules in the working folder first: a repository that is checked
    # there would have its own `typing.py` run. Until here only what Python itself starts with
    # has been imported, hence no `from __future__` above.
    del sys.path[0]

import errno  # noqa: E402
from collections.abc import Sequence  # noqa: E402
from contextlib import suppress  # noqa: E402

INTERNAL_ERROR = 2


def main() -> None:
    """Run the command line and exit; whatever happens, no traceback reaches the user."""
    from kvlint.output.streams import guarded

    _open_closed_streams()
    sys.stdout, sys.stderr = guarded(sys.stdout), guarded(sys.stderr)
    arguments = [_spelt_out(argument) for argument in sys.argv[1:]]
    if not _working_folder():
        sys.exit(_complain("error: the working folder is gone"))
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


def _run(arguments: Sequence[str]) -> "int | str | None":
    """The exit status of a command."""
    from kvlint.cli.app import build, command_in
    from kvlint.errors import UsageError
    from kvlint.output.style import on_one_line

    try:
        build(command_in(arguments))(arguments, prog_name="kvlint")
    except UsageError as error:
        return _complain(f"error: {on_one_line(str(error))}")
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
