"""What is the same for drivers of the DB-API 2.0. A driver's own program gives an `Api` with what is its own."""

import datetime
import decimal

from report import (
    AUTHORITY, OTHER_USER, SCHEMA, STRANGER, TIME_LIMIT, UNKNOWN_USER, error, every_statement, feature, in_thread, rows_file,
    running, show, wait_until,
)


# A packet that is too large, or a connection that its peer has closed.
REFUSED = {f"error {number}" for number in (1153, 2006, 2013, 2027, 2055)}


class Api:
    """What differs between drivers; a call that a driver does not have is None."""

    connect = None  # (**options) -> connection; autocommit is off, as the DB-API says
    tls = None  # (authority) -> options
    socket = None  # options
    compression = None
    compressed_bytes = 100_000
    caching_sha2 = None
    found_rows = None
    local_files = None
    several = None
    first_statement = None  # (sql) -> options
    charset = None  # (name) -> options
    unbuffered = None  # (connection) -> cursor
    version = None  # (connection) -> text
    thread_id = None
    autocommit = None  # (connection, bool)
    select_schema = None  # (connection, name)
    change_user = None  # (connection, user)
    reset = None
    ping = None  # (connection), raises if the connection is gone
    warnings = None  # (connection, cursor) -> list
    info = None
    status = None  # (connection) -> text
    read_timeout = None  # (seconds) -> options
    out_parameters = None  # (connection, cursor) -> values
    state = None  # (error) -> SQLSTATE
    extra_results = None  # (cursor) -> bool, moves to the next result


def results(api, cursor):
    """All results of what a cursor has executed."""
    parts = []
    while True:
        if cursor.description is None:
            parts.append(f"ok {cursor.rowcount}")
        else:
            parts.append(" ".join(show(row) for row in cursor.fetchall()) or "no rows")
        if not api.extra_results(cursor):
            return " + ".join(parts)


def run(api, connection, sql, parameters=None):
    cursor = connection.cursor()
    # Without parameters: a driver then takes `%` as it is.
    cursor.execute(sql) if parameters is None else cursor.execute(sql, parameters)
    outcome = results(api, cursor)
    cursor.close()
    return outcome


def all_features(api):
    connect(api)
    writing(api)
    transactions(api)
    reading(api)
    sessions(api)
    ends(api)

    def opened():
        options = dict(api.several) if api.several else {}
        connection = api.connect(**options)
        api.autocommit(connection, True)
        return connection

    every_statement(opened, lambda connection, sql: run(api, connection, sql))


def one(api, connection, sql):
    cursor = connection.cursor()
    cursor.execute(sql)
    row = cursor.fetchone()
    cursor.close()
    return row[0]


def connect(api):
    def selecting(sql="SELECT 1", **options):
        connection = api.connect(**options)
        answer = run(api, connection, sql)
        connection.close()
        return answer

    feature("connect")(lambda: selecting(f"SELECT DATABASE() = '{SCHEMA}'"))
    feature("connect without a schema")(lambda: selecting("SELECT DATABASE()", database=None))
    feature("connect with a wrong password")(lambda: selecting(password="wrong"))
    feature("connect as an unknown user")(lambda: selecting(user=UNKNOWN_USER))
    feature("connect to an unknown schema")(lambda: selecting(database="nosuch"))
    if api.tls:
        feature("connect with TLS")(lambda: selecting(**api.tls(AUTHORITY)))
        feature("connect with TLS of another authority")(lambda: selecting(**api.tls(STRANGER)))
    if api.socket:
        feature("connect by unix socket")(lambda: selecting(**api.socket))
    if api.compression:
        feature("connect with compression")(lambda: selecting(f"SELECT REPEAT('x', {api.compressed_bytes})", **api.compression))
    if api.caching_sha2:
        feature("connect without TLS and with caching_sha2_password")(lambda: selecting(**api.caching_sha2))
    if api.first_statement:
        feature("connect with a first statement")(
            lambda: selecting("SELECT @first", **api.first_statement("SET @first = 5"))
        )
    if api.version:
        feature("version in the greeting")(lambda: api.version(api.connect()))
    if api.thread_id:

        @feature("connection id")
        def _():
            connection = api.connect()
            return api.thread_id(connection) == one(api, connection, "SELECT CONNECTION_ID()")

    if api.charset:
        feature("character set latin1")(
            lambda: selecting("SELECT 'né', HEX('né'), @@character_set_client", **api.charset("latin1"))
        )


def table(api, connection, columns):
    run(api, connection, "DROP TABLE IF EXISTS calls")
    run(api, connection, f"CREATE TABLE calls ({columns})")


def writing(api):
    connection = api.connect(**(api.local_files or {}))

    @feature("parameters")
    def _():
        table(api, connection, "a INT, b BIGINT UNSIGNED, c DOUBLE, d DECIMAL(20,5), e VARCHAR(20), f BLOB, "
              "g DATE, h DATETIME(6), i TIME, j BOOL, k JSON")
        values = (
            -5, 2**64 - 1, 1.5, decimal.Decimal("12345.67890"), "né 👍 '\"\\%", b"\x00\xff'\\\n", datetime.date(2026, 11, 23),
            datetime.datetime(2026, 11, 23, 1, 2, 3, 456789), datetime.timedelta(hours=-30), True, '{"a": [1]}',
        )
        places = ", ".join(["%s"] * len(values))
        run(api, connection, f"INSERT INTO calls VALUES ({places})", values)
        run(api, connection, f"INSERT INTO calls VALUES ({places})", (None,) * len(values))
        return run(api, connection, "SELECT * FROM calls WHERE a = %s OR a IS NULL ORDER BY a DESC", (-5,))

    @feature("insert many rows")
    def _():
        table(api, connection, "id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20)")
        cursor = connection.cursor()
        cursor.executemany("INSERT INTO calls (a) VALUES (%s)", [(f"row {n}",) for n in range(500)])
        return f"{cursor.rowcount} rows, first id {cursor.lastrowid}, " + run(
            api, connection, "SELECT COUNT(*), MAX(a) FROM calls"
        )

    @feature("last insert id")
    def _():
        cursor = connection.cursor()
        cursor.execute("INSERT INTO calls (a) VALUES ('x'), ('y')")
        many = cursor.lastrowid - one(api, connection, "SELECT LAST_INSERT_ID()")
        cursor.execute("UPDATE calls SET id = LAST_INSERT_ID(id + 100000) WHERE a = 'y'")
        return f"difference {many}, made {cursor.lastrowid > 100000}"

    def changed(connection):
        cursor = connection.cursor()
        cursor.execute("UPDATE calls SET a = 'same' WHERE id <= 3")
        first = cursor.rowcount
        cursor.execute("UPDATE calls SET a = 'same' WHERE id <= 5")
        return f"{first}, {cursor.rowcount}"

    feature("affected rows")(lambda: changed(connection))
    connection.rollback()
    if api.found_rows:
        feature("found rows")(lambda: changed(api.connect(**api.found_rows)))
    if api.warnings:

        @feature("warnings by call")
        def _():
            cursor = connection.cursor()
            cursor.execute("SELECT 1/0, CAST('1x' AS SIGNED)")
            cursor.fetchall()
            return api.warnings(connection, cursor)

    if api.info:

        @feature("information about a statement")
        def _():
            cursor = connection.cursor()
            cursor.execute("UPDATE calls SET a = 'again' WHERE id <= 7")
            return api.info(connection, cursor)

    if api.local_files:

        @feature("LOAD DATA LOCAL")
        def _():
            table(api, connection, "id INT, a VARCHAR(20)")
            sql = f"LOAD DATA LOCAL INFILE '{rows_file()}' INTO TABLE calls CHARACTER SET utf8mb4"
            return run(api, connection, sql) + ", " + run(api, connection, "SELECT * FROM calls ORDER BY id")

        @feature("LOAD DATA LOCAL that the client refuses")
        def _():
            refusing = api.connect()
            try:
                first = run(api, refusing, f"LOAD DATA LOCAL INFILE '{rows_file()}' INTO TABLE calls")
            except Exception as raised:  # the error is the outcome
                first = error(raised)
            try:
                return f"{first}, then {run(api, refusing, 'SELECT 1')}"
            except Exception as raised:  # the error is the outcome
                return f"{first}, then error {type(raised).__name__}"

    connection.close()


def transactions(api):
    first, second = api.connect(), api.connect()
    run(api, first, "DROP TABLE IF EXISTS calls")
    run(api, first, "CREATE TABLE calls (id INT PRIMARY KEY, a INT)")

    @feature("autocommit off")
    def _():
        count = lambda: one(api, second, "SELECT COUNT(*) FROM calls")
        api.autocommit(second, True)
        run(api, first, "INSERT INTO calls VALUES (1, 1)")
        inside, outside = one(api, first, "SELECT COUNT(*) FROM calls"), count()
        first.rollback()
        run(api, first, "INSERT INTO calls VALUES (2, 2)")
        first.commit()
        committed = count()
        api.autocommit(first, True)
        run(api, first, "INSERT INTO calls VALUES (3, 3)")
        first.rollback()
        return (inside, outside, committed, count())

    @feature("two connections")
    def _():
        for connection in (first, second):
            api.autocommit(connection, False)
            run(api, connection, "SET SESSION innodb_lock_wait_timeout = 1")
        run(api, first, "UPDATE calls SET a = 5 WHERE id = 2")
        try:
            return run(api, second, "UPDATE calls SET a = 6 WHERE id = 2")
        finally:
            first.rollback()
            second.rollback()

    @feature("deadlock")
    def _():
        run(api, first, "SET SESSION innodb_lock_wait_timeout = 50")
        run(api, second, "SET SESSION innodb_lock_wait_timeout = 50")
        run(api, first, "UPDATE calls SET a = 7 WHERE id = 2")
        run(api, second, "UPDATE calls SET a = 8 WHERE id = 3")
        waiting = in_thread(lambda: run(api, first, "UPDATE calls SET a = 9 /* dead lock */ WHERE id = 3"))
        looking = api.connect()
        wait_until(lambda: one(api, looking, running("dead lock")) == 1)
        try:
            outcome = run(api, second, "UPDATE calls SET a = 10 WHERE id = 2")
        except Exception as raised:  # the error is the outcome
            outcome = error(raised)
        outcomes = sorted([outcome, waiting()])
        looking.close()
        first.rollback()
        second.rollback()
        return ", ".join(outcomes)

    if api.status:

        @feature("statement status")
        def _():
            states = []
            for sql in ("SELECT 1", "UPDATE calls SET a = 0 WHERE id = 2", "COMMIT", "SET autocommit = 1", "BEGIN", "ROLLBACK"):
                run(api, first, sql)
                states.append(api.status(first))
            return ", ".join(states)

    first.close()
    second.close()


def reading(api):
    numbers = "SELECT seq, REPEAT('x', 50) FROM seq_1_to_20000"
    if api.unbuffered:

        @feature("unbuffered rows")
        def _():
            connection = api.connect()
            cursor = api.unbuffered(connection)
            cursor.execute(numbers)
            total = sum(row[0] for row in cursor)
            cursor.close()
            return total

        @feature("unbuffered rows that are left")
        def _():
            connection = api.connect()
            cursor = api.unbuffered(connection)
            cursor.execute(numbers)
            first = cursor.fetchone()[0]
            cursor.close()
            return f"{first}, then {run(api, connection, 'SELECT 2')}"

    @feature("metadata")
    def _():
        connection = api.connect()
        cursor = connection.cursor()
        cursor.execute("SELECT CAST(1 AS UNSIGNED) AS a, 'x' AS é, 1.5 AS c, NOW() AS d, NULL AS e, CAST('{}' AS CHAR) AS f")
        shown = [tuple(column[:2]) + tuple(column[6:7]) for column in cursor.description]
        cursor.fetchall()
        return shown

    connection = api.connect(**(api.several or {}))
    run(api, connection, "CREATE PROCEDURE IF NOT EXISTS answers(IN n INT, OUT m INT) "
        "BEGIN SELECT n; SELECT n + 1, 'x'; SET m = n * 2; END")

    @feature("procedure with several results")
    def _():
        return run(api, connection, "CALL answers(20, @m)") + ", " + run(api, connection, "SELECT @m")

    if api.out_parameters:
        feature("procedure with OUT parameters")(lambda: api.out_parameters(connection))
    if api.several:

        @feature("several statements")
        def _():
            return run(api, connection, "SELECT 1; DO 2; SELECT 'x', 3")

        @feature("several statements with an error")
        def _():
            try:
                outcome = run(api, connection, "SELECT 1; SELECT nosuch; SELECT 3")
            except Exception as raised:  # the error is the outcome
                outcome = error(raised)
            return f"{outcome}, then {run(api, connection, 'SELECT 4')}"

    @feature("error with state")
    def _():
        states = []
        for sql in ("SELEC", "SELECT * FROM nosuch", "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 30001"):
            try:
                run(api, connection, sql)
            except Exception as raised:  # the error is the outcome
                states.append(f"{type(raised).__name__} {error(raised)} {api.state(raised) if api.state else ''}".strip())
        return ", ".join(states)

    connection.close()


def sessions(api):
    if api.select_schema:

        @feature("select a schema")
        def _():
            connection = api.connect(database=None)
            api.select_schema(connection, "information_schema")
            return run(api, connection, "SELECT DATABASE()")

        @feature("select an unknown schema")
        def _():
            connection = api.connect()
            try:
                api.select_schema(connection, "nosuch")
                outcome = "ok"
            except Exception as raised:  # the error is the outcome
                outcome = error(raised)
            return f"{outcome}, then {run(api, connection, f'SELECT DATABASE() = {SCHEMA!r}')}"

    left = "SELECT @left, SUBSTRING_INDEX(CURRENT_USER(), '@', 1), @@group_concat_max_len"
    if api.change_user:

        @feature("change user")
        def _():
            connection = api.connect()
            run(api, connection, "SET @left = 1, group_concat_max_len = 77")
            api.change_user(connection, OTHER_USER)
            return run(api, connection, left)

    if api.reset:

        @feature("reset the connection")
        def _():
            connection = api.connect()
            run(api, connection, "CREATE TEMPORARY TABLE gone (a INT)")
            run(api, connection, "SET @left = 1, group_concat_max_len = 77")
            api.reset(connection)
            try:
                outcome = run(api, connection, "SELECT * FROM gone")
            except Exception as raised:  # the error is the outcome
                outcome = error(raised)
            return f"{run(api, connection, left)}, {outcome}"


def ends(api):
    @feature("ping")
    def _():
        connection = api.connect()
        api.ping(connection)
        return "ok"

    @feature("ping after the connection was killed")
    def _():
        connection, killer = api.connect(), api.connect()
        number = one(api, connection, "SELECT CONNECTION_ID()")
        run(api, killer, f"KILL {number}")
        wait_until(lambda: one(api, killer, f"SELECT COUNT(*) FROM information_schema.processlist WHERE id = {number}") == 0)
        api.ping(connection)
        return "ok"

    def killed(kind):
        connection, killer = api.connect(), api.connect()
        number = one(api, connection, "SELECT CONNECTION_ID()")
        marker = f"asleep {kind}"
        waiting = in_thread(lambda: run(api, connection, f"SELECT BENCHMARK(1000000000000, MD5('x')), '{marker}'"))
        wait_until(lambda: one(api, killer, running(marker)) == 1)
        run(api, killer, f"KILL {kind} {number}")
        first = waiting()
        try:
            then = run(api, connection, "SELECT 1")
        except Exception as raised:  # the error is the outcome
            then = error(raised)
        return f"{first}, then {then}"

    feature("kill a statement")(lambda: killed("QUERY"))
    feature("kill a connection")(lambda: killed("CONNECTION"))

    @feature("time limit of a statement")
    def _():
        connection = api.connect()
        run(api, connection, TIME_LIMIT)
        return run(api, connection, "SELECT BENCHMARK(1000000000000, MD5('x'))")

    if api.read_timeout:
        feature("time limit of the client")(
            lambda: run(api, api.connect(**api.read_timeout(1)), "SELECT SLEEP(20)")
        )

    @feature("packet of 17 MiB")
    def _():
        connection = api.connect()
        text = "0123456789abcdef" * (17 << 16)
        cursor = connection.cursor()
        cursor.execute("SELECT %s, LENGTH(%s)", (text, text[:10]))
        back, length = cursor.fetchone()
        return f"{'equal' if back == text else 'different'}, {length}"

    @feature("packet that is too large")
    def _():
        # Whether the error arrives before the end of the connection is chance.
        connection = api.connect()
        try:
            return run(api, connection, "SELECT LENGTH('" + "x" * (25 << 20) + "')")
        except Exception as raised:  # the error is the outcome
            return "refused" if error(raised) in REFUSED else error(raised)

