"""mysqlclient: Python on MariaDB's C library."""

import MySQLdb
import MySQLdb.cursors
from MySQLdb.constants import CLIENT

import dbapi
from report import HOST, PASSWORD, PORT, SCHEMA, SOCKET, USER, say


def connect(**options):
    settings = {
        "host": HOST, "port": PORT, "user": USER, "password": PASSWORD, "database": SCHEMA, "charset": "utf8mb4",
    }
    settings |= options
    if settings["database"] is None:
        del settings["database"]
    return MySQLdb.connect(**settings)


def next_result(cursor):
    return bool(cursor.nextset())


def warnings(connection, cursor):
    return (connection.warning_count(), connection.show_warnings())


class MySqlClient(dbapi.Api):
    connect = staticmethod(connect)
    tls = staticmethod(lambda authority: {"ssl_mode": "VERIFY_IDENTITY", "ssl": {"ca": authority}})
    socket = {"unix_socket": SOCKET, "host": "localhost"}
    compression = {"compress": True}
    caching_sha2 = {"auth_plugin": "caching_sha2_password"}
    found_rows = {"client_flag": CLIENT.FOUND_ROWS}
    local_files = {"local_infile": 1}
    several = {"client_flag": CLIENT.MULTI_STATEMENTS}
    first_statement = staticmethod(lambda sql: {"init_command": sql})
    charset = staticmethod(lambda name: {"charset": name})
    unbuffered = staticmethod(lambda connection: connection.cursor(MySQLdb.cursors.SSCursor))
    version = staticmethod(lambda connection: connection.get_server_info())
    thread_id = staticmethod(lambda connection: connection.thread_id())
    autocommit = staticmethod(lambda connection, on: connection.autocommit(on))
    select_schema = staticmethod(lambda connection, name: connection.select_db(name))
    change_user = staticmethod(lambda connection, user: connection.change_user(user, PASSWORD, SCHEMA))
    ping = staticmethod(lambda connection: connection.ping())
    warnings = staticmethod(warnings)
    info = staticmethod(lambda connection, cursor: connection.info())
    read_timeout = staticmethod(lambda seconds: {"read_timeout": seconds})
    extra_results = staticmethod(next_result)


say("client", "mysqlclient " + ".".join(map(str, MySQLdb.version_info[:3])))
dbapi.all_features(MySqlClient)
