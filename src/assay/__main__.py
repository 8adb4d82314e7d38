"""The commands `assay` and `python -m assay`: Ctrl-C never prints a traceback, neither at the start nor at the end."""

import os
import signal

INTERRUPTED = 130


def _end(*_: object) -> None:
    os._exit(INTERRUPTED)


def main() -> None:
    """Run the command line; Ctrl-C ends the process at once while modules are imported and while Python ends."""
    # elsewhere it is ignored, as under nohup
    is_handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_handled:
        signal.signal(signal.SIGINT, _end)
    from assay.cli.app import main as run_command  # noqa: PLC0415  the handler comes first

    try:
        if is_handled:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run_command()
    except KeyboardInterrupt:  # a second one, while the first is reported
        os._exit(INTERRUPTED)
    finally:
        if is_handled:
            signal.signal(signal.SIGINT, _end)


if __name__ == "__main__":
    main()
