"""What every Python program here shares: where to connect, the statements, and lines `feature: outcome`."""

import datetime
import hashlib
import os
import sys
import threading
import time

HOST = os.environ["CLIENT_HOST"]
PORT = int(os.environ["CLIENT_PORT"])
SOCKET = os.environ["CLIENT_SOCKET"]
USER = os.environ["CLIENT_USER"]
OTHER_USER = os.environ["CLIENT_OTHER_USER"]
UNKNOWN_USER = os.environ["CLIENT_UNKNOWN_USER"]
PASSWORD = os.environ["CLIENT_PASSWORD"]
SCHEMA = os.environ["CLIENT_SCHEMA"]
# `mariadb` or `mysql`.
SERVER = os.environ["CLIENT_SERVER"]
# Features that are left out.
LEFT_OUT = os.environ["CLIENT_LEFT_OUT"].split(", ")
# Limits a statement to 0.2 seconds.
TIME_LIMIT = os.environ["CLIENT_TIME_LIMIT"]
AUTHORITY = os.environ["CLIENT_AUTHORITY"]
STRANGER = os.environ["CLIENT_STRANGER"]
DIRECTORY = os.environ["CLIENT_DIRECTORY"]
STATEMENTS = os.environ["CLIENT_STATEMENTS"]


def show(value):
    """A value with its type, short, and the same in every run."""
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(show(item) for item in value) + ")"
    if isinstance(value, (bytes, bytearray)):
        value = bytes(value)
        if len(value) > 120:
            return f"{len(value)} bytes {hashlib.md5(value).hexdigest()}"
        return repr(value)
    if isinstance(value, str) and len(value) > 120:
        return f"{len(value)} characters {hashlib.md5(value.encode()).hexdigest()}"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(show(item) for item in sorted(value)) + "}"
    if isinstance(value, datetime.datetime):
        return f"datetime {value.isoformat(' ')}"
    if isinstance(value, datetime.date):
        return f"date {value.isoformat()}"
    if isinstance(value, datetime.timedelta):
        return f"time {value}"
    return repr(value)


def error(raised):
    """A database's error by its number; another one by its type."""
    if getattr(raised, "orig", None) is not None:
        raised = raised.orig
    number = getattr(raised, "errno", None)
    if number is None and raised.args and isinstance(raised.args[0], int):
        number = raised.args[0]
    if number is not None and number != -1:
        return f"error {number}"
    return f"error {type(raised).__name__}"


def say(feature, outcome):
    outcome = outcome if isinstance(outcome, str) else show(outcome)
    outcome = outcome.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    print(f"{feature}: {outcome}", flush=True)


def feature(name):
    """Runs a function at once and reports what it returns or raises."""

    def run(function):
        if name in LEFT_OUT:
            return function
        try:
            outcome = function()
        except Exception as raised:  # every outcome is reported
            outcome = error(raised)
        say(name, outcome)
        return function

    return run


def blocks():
    """The blocks of `statements.sql`: a name and its statements."""
    with open(STATEMENTS, encoding="utf-8") as text:
        for block in text.read().split("\n\n")[1:]:
            head, *statements = block.strip("\n").split("\n")
            yield head.removeprefix("-- "), [text.removesuffix(";") for text in statements]


def every_statement(connect, run, suffix=""):
    """Every block on a connection of its own; `run(connection, sql)` gives the outcome of a statement."""
    for name, statements in blocks():
        outcomes = []
        connection = connect()
        for sql in statements:
            try:
                outcomes.append(run(connection, sql))
            except Exception as raised:  # every outcome is reported
                outcomes.append(error(raised))
        connection.close()
        say(name + suffix, " ; ".join(outcomes))


def in_thread(work):
    """Starts work; a function that waits for it and gives what it returned or its error."""
    outcome = []

    def body():
        try:
            outcome.append(work())
        except Exception as raised:  # every outcome is reported
            outcome.append(error(raised))

    thread = threading.Thread(target=body)
    thread.start()

    def join():
        thread.join(60)
        return outcome[0] if outcome else "no answer in 60 s"

    return join


def wait_until(condition, seconds=30):
    """Asks until the condition holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    raise TimeoutError("the condition stayed false")


def rows_file():
    """A file for LOAD DATA LOCAL."""
    path = os.path.join(DIRECTORY, "rows.tsv")
    with open(path, "w", encoding="utf-8") as rows:
        rows.write("1\tone\n2\tzwei é\n3\t\\N\n")
    return path


def running(marker):
    """A statement that counts the statements that run with this marker in their text."""
    return (
        "SELECT COUNT(*) FROM information_schema.processlist "
        f"WHERE info LIKE '%{marker}%' AND info NOT LIKE '%processlist%' AND db = DATABASE()"
    )


if sys.version_info < (3, 10):
    sys.exit("Python 3.10 or later is needed")
