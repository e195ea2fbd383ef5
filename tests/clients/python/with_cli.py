"""The `mariadb` program of Debian."""

import os
import re
import signal
import subprocess

from report import (
    AUTHORITY, DIRECTORY, HOST, OTHER_USER, PASSWORD, PORT, SCHEMA, SOCKET, STRANGER, TIME_LIMIT, UNKNOWN_USER, USER, blocks, feature,
    rows_file, running, say, wait_until,
)

PROGRAM = "mariadb"


def command(*options, user=USER, password=PASSWORD, schema=SCHEMA, where=None):
    where = where or [f"--host={HOST}", f"--port={PORT}", "--protocol=tcp"]
    words = [PROGRAM, "--no-defaults", *where, f"--user={user}", f"--password={password}", "--batch", *options]
    return words + ([schema] if schema else [])


def outcome(done):
    """What was printed, and errors by number, in their order."""
    text = re.sub(r"ERROR (\d+) \((\w+)\).*", r"error \1 \2", done.stdout.decode(errors="backslashreplace"))
    text = re.sub(r"--------------\n.*\n--------------\n", "", text)
    return text.strip("\n").replace("\n", " ; ") or f"exit {done.returncode}"


def run(text, *options, **where):
    """What `mariadb` prints for a text on its input; it goes on after errors."""
    done = subprocess.run(
        command("--force", *options, **where), input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
    )
    return outcome(done)


def every_block():
    for name, statements in blocks():
        text = "DELIMITER ;;\n" + "".join(f"{sql}\n;;\n" for sql in statements)
        answer = run(text, "--show-warnings", "--unbuffered")
        say(name, re.sub(r"at line \d+", "", answer))


version = subprocess.run([PROGRAM, "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout
say("client", "mariadb " + re.search(r"Distrib (\d+\.\d+)", version)[1])
feature("connect")(lambda: run(f"SELECT DATABASE() = '{SCHEMA}'"))
feature("connect without a schema")(lambda: run("SELECT DATABASE()", schema=None))
feature("connect with a wrong password")(lambda: run("SELECT 1", password="wrong"))
feature("connect as an unknown user")(lambda: run("SELECT 1", user=UNKNOWN_USER))
feature("connect to an unknown schema")(lambda: run("SELECT 1", schema="nosuch"))
feature("connect with TLS")(lambda: run("SELECT 1", f"--ssl-ca={AUTHORITY}", "--ssl-verify-server-cert"))
feature("connect with TLS of another authority")(lambda: run("SELECT 1", f"--ssl-ca={STRANGER}", "--ssl-verify-server-cert"))
feature("connect with compression")(lambda: run("SELECT MD5(REPEAT('x', 100000))", "--compress"))
feature("connect by unix socket")(lambda: run("SELECT 1", where=[f"--socket={SOCKET}"]))
feature("connect with a first statement")(lambda: run("SELECT @first", "--init-command=SET @first = 5"))
feature("connect without TLS and with caching_sha2_password")(
    lambda: run("SELECT 1", "--skip-ssl", "--default-auth=caching_sha2_password")
)
feature("character set latin1")(
    lambda: run("SELECT HEX('é'), @@character_set_client", "--default-character-set=latin1")
)
feature("version in the greeting")(lambda: re.search(r"Server version:\t*([^ ;]+)", run("status"))[1])


@feature("connection id")
def _():
    answer = run("status\nSELECT CONNECTION_ID()")
    shown = re.search(r"Connection id:\t*(\d+)", answer)[1]
    return f"the same: {answer.endswith(shown)}"


feature("information about a statement")(
    lambda: re.sub(
        r"\([\d.]+ sec\)", "",
        run("CREATE TABLE calls (id INT PRIMARY KEY, a VARCHAR(9)); INSERT INTO calls VALUES (1, 'a'), (2, 'b');"
            "UPDATE calls SET a = 'c'; DELETE FROM calls WHERE id = 1; SELECT * FROM calls", "-vvv", "--table"),
    )
)
feature("LOAD DATA LOCAL")(
    lambda: run(
        "DROP TABLE IF EXISTS loaded; CREATE TABLE loaded (id INT, a VARCHAR(20));"
        f"LOAD DATA LOCAL INFILE '{rows_file()}' INTO TABLE loaded CHARACTER SET utf8mb4; SELECT * FROM loaded ORDER BY id;",
        "--local-infile=1",
    )
)
feature("LOAD DATA LOCAL that the client refuses")(
    lambda: run(f"LOAD DATA LOCAL INFILE '{rows_file()}' INTO TABLE loaded; SELECT 1;", "--local-infile=0")
)
feature("several statements")(lambda: run("DELIMITER //\nSELECT 1; DO 2; SELECT 'x', 3 //"))
feature("several statements with an error")(lambda: run("DELIMITER //\nSELECT 1; SELECT nosuch; SELECT 3 //\nSELECT 4 //"))
feature("unbuffered rows")(
    lambda: run(
        "SELECT seq AS i, REPEAT('x', 50) FROM seq_1_to_20000", "--quick",
    )[-60:]
)
feature("select a schema")(lambda: run("use information_schema\nSELECT DATABASE()"))
feature("select an unknown schema")(lambda: run("use nosuch\nSELECT DATABASE() = '" + SCHEMA + "'"))
feature("reset the connection")(lambda: run("SET @left = 1; SELECT @left; resetconnection\nSELECT @left;"))
feature("change user")(lambda: run("SELECT SUBSTRING_INDEX(USER(), '@', 1)", user=OTHER_USER))
feature("metadata")(lambda: run("SELECT CAST(1 AS UNSIGNED) AS a, 'x' AS é, 1.5 AS c, NULL AS e", "--column-type-info"))
feature("warnings by call")(lambda: run("SELECT 1/0;\nwarnings;\nSELECT CAST('1x' AS SIGNED)", "--show-warnings"))
feature("time limit of a statement")(
    lambda: run(f"{TIME_LIMIT}; SELECT BENCHMARK(1000000000000, MD5('x')); SELECT 1;")
)


@feature("packet of 17 MiB")
def _():
    text = "0123456789abcdef" * (17 << 16)
    return run(f"SELECT LENGTH('{text}')", "--max-allowed-packet=64M")[-50:]


@feature("packet that is too large")
def _():
    answer = run("SELECT LENGTH('" + "x" * (25 << 20) + "')", "--max-allowed-packet=64M")
    # Whether the error arrives before the end of the connection is chance.
    return re.sub(r"^error (1153|2006|2013|2027) \w+$", "refused", answer)


@feature("kill a statement")
def _():
    """What Ctrl-C does: the program opens a second connection and sends KILL QUERY."""
    words = command("--execute=SELECT BENCHMARK(1000000000000, MD5('x')), 'by control c'")
    with open(os.path.join(DIRECTORY, "killed"), "wb") as output:
        process = subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT)
    wait_until(lambda: run(running("by control c"), "--skip-column-names") == "1")
    process.send_signal(signal.SIGINT)
    process.wait(30)
    with open(os.path.join(DIRECTORY, "killed"), encoding="utf-8") as output:
        return re.sub(r"ERROR (\d+) .*", r"error \1", output.read()).strip().replace("\n", " ; ")


every_block()
