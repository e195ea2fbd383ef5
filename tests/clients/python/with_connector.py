"""mysql-connector-python: `pure` is Python alone, `c` is on MySQL's C library, which its package holds."""

import sys

import mysql.connector
from mysql.connector.constants import ClientFlag

import dbapi
from report import HOST, PASSWORD, PORT, SCHEMA, SOCKET, USER, every_statement, feature, say, show

PURE = sys.argv[1] == "pure"


def connect(**options):
    settings = {
        "host": HOST, "port": PORT, "user": USER, "password": PASSWORD, "database": SCHEMA, "charset": "utf8mb4",
        "collation": "utf8mb4_general_ci", "use_pure": PURE, "ssl_disabled": True, "allow_local_infile": False,
    }
    settings |= options
    if settings["database"] is None:
        del settings["database"]
    if settings["charset"] != "utf8mb4":
        del settings["collation"]
    if "unix_socket" in settings:
        del settings["host"], settings["port"]
    return mysql.connector.connect(**settings)


def warnings(connection, cursor):
    cursor = connection.cursor()
    connection.get_warnings = True
    cursor.execute("SELECT 1/0, CAST('1x' AS SIGNED)")
    cursor.fetchall()
    return (cursor.warning_count, cursor.fetchwarnings())


def out_parameters(connection):
    cursor = connection.cursor()
    values = cursor.callproc("answers", (7, 0))
    return (values, [result.fetchall() for result in cursor.stored_results()])


def set_autocommit(connection, on):
    connection.autocommit = on


def select_schema(connection, name):
    connection.database = name


def ping(connection):
    connection.ping(reconnect=False)


class Connector(dbapi.Api):
    connect = staticmethod(connect)
    tls = staticmethod(
        lambda authority: {"ssl_disabled": False, "ssl_ca": authority, "ssl_verify_cert": True, "ssl_verify_identity": True}
    )
    socket = {"unix_socket": SOCKET}
    compression = {"compress": True, "read_timeout": 5}
    # This driver reads no packet that comes in more than two compressed frames. A server puts 16 MiB into one, and the proxy
    # 64 KiB at most.
    compressed_bytes = 10_000
    caching_sha2 = {"auth_plugin": "caching_sha2_password"}
    found_rows = {"client_flags": [ClientFlag.FOUND_ROWS]}
    local_files = {"allow_local_infile": True}
    first_statement = staticmethod(lambda sql: {"init_command": sql})
    charset = staticmethod(lambda name: {"charset": name})
    unbuffered = staticmethod(lambda connection: connection.cursor(buffered=False))
    version = staticmethod(lambda connection: connection.server_info)
    thread_id = staticmethod(lambda connection: connection.connection_id)
    autocommit = staticmethod(set_autocommit)
    select_schema = staticmethod(select_schema)
    change_user = staticmethod(lambda connection, user: connection.cmd_change_user(user, PASSWORD, SCHEMA))
    reset = staticmethod(lambda connection: connection.cmd_reset_connection())
    ping = staticmethod(ping)
    warnings = staticmethod(warnings)
    status = staticmethod(lambda connection: str(connection.in_transaction))
    read_timeout = staticmethod(lambda seconds: {"read_timeout": seconds})
    out_parameters = staticmethod(out_parameters)
    state = staticmethod(lambda raised: raised.sqlstate)
    extra_results = staticmethod(lambda cursor: bool(cursor.nextset()))


def prepared(connection, sql):
    cursor = connection.cursor(prepared=True)
    try:
        cursor.execute(sql)
        rows = cursor.fetchall() if cursor.description else f"ok {cursor.rowcount}"
        return rows if isinstance(rows, str) else " ".join(show(row) for row in rows) or "no rows"
    finally:
        cursor.close()


def opened():
    return connect(autocommit=True)


say("client", f"mysql-connector-python {mysql.connector.__version__}, {'Python' if PURE else 'C'}")
dbapi.all_features(Connector)


@feature("pool")
def _():
    settings = {"pool_name": "p", "pool_size": 1, "host": HOST, "port": PORT, "user": USER, "password": PASSWORD}
    settings |= {"database": SCHEMA, "use_pure": PURE, "ssl_disabled": True, "collation": "utf8mb4_general_ci"}
    pool = mysql.connector.pooling.MySQLConnectionPool(**settings)
    first = pool.get_connection()
    dbapi.run(Connector, first, "SET @left = 1")
    first.close()
    return dbapi.run(Connector, pool.get_connection(), "SELECT @left")


@feature("isolation level")
def _():
    connection = connect()
    connection.start_transaction(isolation_level="SERIALIZABLE", readonly=False)
    answer = dbapi.run(Connector, connection, "SELECT @@in_transaction")
    connection.commit()
    return answer


@feature("query attributes")
def _():
    connection = connect()
    answers = []
    for options, sql, parameters in (
        ({}, "SELECT mysql_query_attribute_string('trace'), mysql_query_attribute_string('n')", ()),
        ({"prepared": True}, "SELECT ?, mysql_query_attribute_string('trace'), mysql_query_attribute_string('n')", ("x",)),
    ):
        cursor = connection.cursor(**options)
        for attributes in ((("trace", "é-1"), ("n", 7)), ()):
            cursor.clear_attributes()
            for name, value in attributes:
                cursor.add_attribute(name, value)
            cursor.execute(sql, parameters)
            answers += cursor.fetchall()
        cursor.close()
    return " ".join(show(row) for row in answers)


@feature("statement executed many times")
def _():
    connection = connect()
    cursor = connection.cursor(prepared=True)
    total = 0
    for n in range(200):
        cursor.execute("SELECT ? + 1, ?", (n, "é"))
        total += cursor.fetchall()[0][0]
        if n == 100:
            connection.commit()
    return total


every_statement(opened, prepared, suffix=", prepared")
