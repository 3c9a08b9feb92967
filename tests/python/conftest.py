"""What holds for all tests."""

import signal


def pytest_configure():
    """Ignored signals, as under nohup, stay ignored in the commands that tests start; caught ones do not."""
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
