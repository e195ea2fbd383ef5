"""PyMySQL: Python alone."""

import importlib.metadata

import pymysql
import pymysql.cursors
from pymysql.constants import CLIENT

import dbapi
from report import HOST, PASSWORD, PORT, SCHEMA, SOCKET, USER, say


def connect(**options):
    settings = {
        "host": HOST, "port": PORT, "user": USER, "password": PASSWORD, "database": SCHEMA, "charset": "utf8mb4",
        "max_allowed_packet": 64 << 20,
    }
    return pymysql.connect(**(settings | options))


def changed_status(connection):
    status = connection.server_status
    return f"{'autocommit' if status & 2 else '-'} {'transaction' if status & 1 else '-'}"


def out_parameters(connection):
    cursor = connection.cursor()
    cursor.callproc("answers", (7, 0))
    rows = [cursor.fetchall()]
    while cursor.nextset():
        rows.append(cursor.fetchall())
    cursor.execute("SELECT @_answers_1")
    return (rows, cursor.fetchall())


class PyMySql(dbapi.Api):
    connect = staticmethod(connect)
    tls = staticmethod(lambda authority: {"ssl_ca": authority, "ssl_verify_cert": True, "ssl_verify_identity": True})
    socket = {"unix_socket": SOCKET}
    found_rows = {"client_flag": CLIENT.FOUND_ROWS}
    local_files = {"local_infile": True}
    several = {"client_flag": CLIENT.MULTI_STATEMENTS}
    first_statement = staticmethod(lambda sql: {"init_command": sql})
    charset = staticmethod(lambda name: {"charset": name})
    unbuffered = staticmethod(lambda connection: connection.cursor(pymysql.cursors.SSCursor))
    version = staticmethod(lambda connection: connection.get_server_info())
    thread_id = staticmethod(lambda connection: connection.thread_id())
    autocommit = staticmethod(lambda connection, on: connection.autocommit(on))
    select_schema = staticmethod(lambda connection, name: connection.select_db(name))
    ping = staticmethod(lambda connection: connection.ping(reconnect=False))
    warnings = staticmethod(lambda connection, cursor: connection.show_warnings())
    info = staticmethod(lambda connection, cursor: connection._result.message)
    status = staticmethod(changed_status)
    read_timeout = staticmethod(lambda seconds: {"read_timeout": seconds})
    out_parameters = staticmethod(out_parameters)
    extra_results = staticmethod(lambda cursor: cursor.nextset())


say("client", f"PyMySQL {importlib.metadata.version('PyMySQL')}")
dbapi.all_features(PyMySql)
