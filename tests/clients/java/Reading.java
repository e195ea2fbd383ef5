import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;

/** Rows, results and what is told about them. */
final class Reading {
    private Reading() {}

    private static final String MANY_ROWS = "SELECT seq, REPEAT('x', 50) FROM seq_1_to_20000";

    /** What the statements of this driver can say beside their text. */
    private static String attributes() throws Exception {
        Class<?> type = Class.forName("com.mysql.cj.jdbc.JdbcStatement");
        List<String> answers = new ArrayList<>();
        for (String onServer : new String[] {"false", "true"}) {
            try (Connection connection = Driver.open("useServerPrepStmts", onServer);
                PreparedStatement statement =
                    connection.prepareStatement("SELECT ?, mysql_query_attribute_string('trace')")) {
                statement.setInt(1, 5);
                type.getMethod("setAttribute", String.class, Object.class).invoke(statement, "trace", "é-1");
                answers.add(Driver.rows(statement.executeQuery()));
                type.getMethod("clearAttributes").invoke(statement);
                answers.add(Driver.rows(statement.executeQuery()));
            }
        }
        return String.join(" ", answers);
    }

    static void features() throws Exception {
        try (Connection connection = Driver.open("allowMultiQueries", "true")) {
            Report.feature("unbuffered rows", () -> streamed(connection, 20_000));
            Report.feature("unbuffered rows that are left",
                () -> Report.then(() -> streamed(connection, 1), () -> Driver.run(connection, "SELECT 2")));
            Report.feature("server-side cursor", Reading::cursor);
            Report.feature("procedure with several results", () -> {
                Driver.run(connection, "CREATE PROCEDURE IF NOT EXISTS answers(IN n INT, OUT m INT) "
                    + "BEGIN SELECT n; SELECT n + 1, 'x'; SET m = n * 2; END");
                return Driver.run(connection, "CALL answers(20, @m)") + ", " + Driver.run(connection, "SELECT @m");
            });
            if (!Driver.MARIADB) Report.feature("query attributes", Reading::attributes);
            Report.feature("procedure with OUT parameters", () -> called(connection));
            Report.feature("several statements", () -> Driver.run(connection, "SELECT 1; DO 2; SELECT 'x', 3"));
            Report.feature("several statements with an error",
                () -> Report.then(() -> Driver.run(connection, "SELECT 1; SELECT nosuch; SELECT 3"),
                    () -> Driver.run(connection, "SELECT 4")));
            Report.feature("error with state", () -> states(connection));
            Report.feature("metadata", () -> metadata(connection));
            Report.feature("reflection", () -> reflection(connection));
        }
        Report.feature("long data", () -> {
            try (Connection connection = Driver.open("useServerPrepStmts", "true");
                PreparedStatement statement = connection.prepareStatement("SELECT LENGTH(?), MD5(?), ?")) {
                String text = "0123456789".repeat(50_000);
                statement.setCharacterStream(1, new java.io.StringReader(text));
                statement.setBinaryStream(2, new java.io.ByteArrayInputStream(new byte[] {0, -1}));
                statement.setString(3, "é");
                return Driver.rows(statement.executeQuery());
            }
        });
        Report.feature("statement executed many times", () -> {
            try (Connection connection = Driver.open("useServerPrepStmts", "true", "cachePrepStmts", "true")) {
                connection.setAutoCommit(false);
                long total = 0;
                for (int n = 0; n < 200; n++) {
                    // Closed and prepared again: the driver keeps it.
                    try (PreparedStatement statement = connection.prepareStatement("SELECT ? + 1, ?")) {
                        statement.setInt(1, n);
                        statement.setString(2, "é");
                        ResultSet rows = statement.executeQuery();
                        rows.next();
                        total += rows.getLong(1);
                    }
                    if (n == 100) connection.commit();
                }
                connection.commit();
                return String.valueOf(total);
            }
        });
    }

    private static String streamed(Connection connection, int limit) throws SQLException {
        try (Statement statement = connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
            statement.setFetchSize(Driver.MARIADB ? 100 : Integer.MIN_VALUE);
            long total = 0;
            try (ResultSet rows = statement.executeQuery(MANY_ROWS)) {
                for (int n = 0; n < limit && rows.next(); n++) total += rows.getLong(1);
            }
            return String.valueOf(total);
        }
    }

    private static String cursor() throws Exception {
        try (Connection connection = Driver.open("useCursorFetch", "true", "useServerPrepStmts", "true");
            PreparedStatement statement = connection.prepareStatement("SELECT seq, ? FROM seq_1_to_1000")) {
            statement.setFetchSize(100);
            statement.setString(1, "é");
            long total = 0;
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) total += rows.getLong(1);
            }
            return total + ", then " + Driver.run(connection, "SELECT 2");
        }
    }

    private static String called(Connection connection) throws Exception {
        try (CallableStatement call = connection.prepareCall("{CALL answers(?, ?)}")) {
            call.setInt(1, 7);
            call.registerOutParameter(2, Types.INTEGER);
            StringBuilder results = new StringBuilder();
            for (boolean rows = call.execute(); rows; rows = call.getMoreResults()) {
                results.append(Driver.rows(call.getResultSet())).append(" + ");
            }
            return results.append(call.getInt(2)).toString();
        }
    }

    private static String states(Connection connection) throws Exception {
        List<String> states = new ArrayList<>();
        for (String sql : List.of("SELEC", "SELECT * FROM nosuch", "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 30001")) {
            try {
                Driver.run(connection, sql);
            } catch (SQLException raised) {
                states.add(raised.getClass().getSimpleName() + " " + raised.getErrorCode() + " " + raised.getSQLState());
            }
        }
        return String.join(", ", states);
    }

    private static String metadata(Connection connection) throws Exception {
        Driver.run(connection, "DROP TABLE IF EXISTS described");
        Driver.run(connection, "CREATE TABLE described (j JSON NOT NULL, p POINT, u UUID)");
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(
            "SELECT CAST(1 AS UNSIGNED) AS a, 'x' AS é, 1.5 AS c, NOW(3) AS d, NULL AS e, X'00' AS f, j, p, u FROM described")) {
            ResultSetMetaData about = rows.getMetaData();
            List<String> columns = new ArrayList<>();
            for (int n = 1; n <= about.getColumnCount(); n++) {
                columns.add(String.join(" ", about.getColumnLabel(n), about.getTableName(n), about.getColumnTypeName(n),
                    about.getColumnClassName(n), about.getPrecision(n) + "." + about.getScale(n), "" + about.isNullable(n)));
            }
            return String.join(", ", columns);
        }
    }

    private static String reflection(Connection connection) throws Exception {
        Driver.run(connection, "DROP TABLE IF EXISTS parent");
        Driver.run(connection, "CREATE TABLE parent (id BIGINT UNSIGNED PRIMARY KEY, a VARCHAR(9) NOT NULL, KEY by_a (a))");
        Driver.run(connection, "DROP TABLE IF EXISTS child");
        Driver.run(connection, "CREATE TABLE child (id INT PRIMARY KEY, parent BIGINT UNSIGNED, b DECIMAL(9,2) DEFAULT 1.5, "
            + "CONSTRAINT of_parent FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE)");
        DatabaseMetaData about = connection.getMetaData();
        String schema = Driver.SCHEMA;
        List<String> parts = new ArrayList<>();
        parts.add(Report.attempt(() -> Driver.rows(about.getTables(schema, null, "%", new String[] {"TABLE", "BASE TABLE"}))));
        parts.add(Report.attempt(() -> columns(about.getColumns(schema, null, "child", "%"))));
        parts.add(Report.attempt(() -> Driver.rows(about.getPrimaryKeys(schema, null, "child"))));
        parts.add(Report.attempt(() -> Driver.rows(about.getImportedKeys(schema, null, "child"))));
        // The cardinality is an estimate.
        parts.add(Report.attempt(() -> indexes(about.getIndexInfo(schema, null, "parent", false, true))));
        parts.add(Report.attempt(() -> Driver.rows(about.getProcedureColumns(schema, null, "answers", "%"))));
        return String.join(" | ", parts);
    }

    private static String columns(ResultSet rows) throws SQLException {
        List<String> columns = new ArrayList<>();
        while (rows.next()) {
            columns.add(String.join(" ", rows.getString("COLUMN_NAME"), rows.getString("TYPE_NAME"),
                rows.getString("COLUMN_SIZE"), rows.getString("COLUMN_DEF"), rows.getString("IS_NULLABLE")));
        }
        return String.join(", ", columns);
    }

    private static String indexes(ResultSet rows) throws SQLException {
        List<String> indexes = new ArrayList<>();
        while (rows.next()) {
            indexes.add(rows.getString("INDEX_NAME") + " " + rows.getString("COLUMN_NAME") + " " + rows.getBoolean("NON_UNIQUE"));
        }
        return String.join(", ", indexes);
    }
}
