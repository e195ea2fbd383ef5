import static java.sql.Statement.RETURN_GENERATED_KEYS;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Arrays;
import java.util.stream.IntStream;

/** Rows that are written. */
final class Writing {
    private Writing() {}

    private static final Object[] VALUES = {
        -5, new BigInteger("18446744073709551615"), 1.5, new BigDecimal("12345.67890"), "né 👍 '\"\\%",
        new byte[] {0, -1, 39, 92, 10}, LocalDate.of(2026, 11, 23), LocalDateTime.of(2026, 11, 23, 1, 2, 3, 456789000),
        LocalTime.of(23, 59, 58), true, "{\"a\": [1]}",
    };

    static void features() throws Exception {
        String[] files = {"allowLocalInfile", "true", "allowLoadLocalInfile", "true"};
        try (Connection connection = Driver.open(files)) {
            bound("parameters", "useServerPrepStmts", "true");
            bound("parameters in the text", "useServerPrepStmts", "false");
            many("insert many rows");
            many("insert many rows, rewritten", "rewriteBatchedStatements", "true");
            many("insert many rows, prepared on the server", "useServerPrepStmts", "true");
            if (Driver.MARIADB) many("insert many rows in bulk", "useBulkStmts", "true", "useServerPrepStmts", "true");
            Report.feature("batch with an error", Writing::batchWithError);
            Report.feature("last insert id", () -> keys(connection));
            changed("affected rows", "true");
            changed("found rows", "false");
            Report.feature("warnings by call", () -> warnings(connection));
            Report.feature("LOAD DATA LOCAL", () -> {
                Path rows = Path.of(Report.variable("DIRECTORY"), "rows.tsv");
                Files.writeString(rows, "1\tone\n2\tzwei é\n3\t\\N\n");
                Driver.run(connection, "DROP TABLE IF EXISTS calls");
                Driver.run(connection, "CREATE TABLE calls (id INT, a VARCHAR(20))");
                String sql = "LOAD DATA LOCAL INFILE '" + rows + "' INTO TABLE calls CHARACTER SET utf8mb4";
                return Driver.run(connection, sql) + ", " + Driver.run(connection, "SELECT * FROM calls ORDER BY id");
            });
            Report.feature("LOAD DATA LOCAL that the client refuses", () -> {
                String option = Driver.MARIADB ? "allowLocalInfile" : "allowLoadLocalInfile";
                try (Connection refusing = Driver.open(option, "false")) {
                    return Report.then(() -> Driver.run(refusing, "LOAD DATA LOCAL INFILE '/nosuch' INTO TABLE calls"),
                        () -> Driver.run(refusing, "SELECT 1"));
                }
            });
        }
    }

    private static void bound(String feature, String... options) {
        Report.feature(feature, () -> {
            try (Connection connection = Driver.open(options)) {
                Driver.run(connection, "DROP TABLE IF EXISTS calls");
                Driver.run(connection, "CREATE TABLE calls (a INT, b BIGINT UNSIGNED, c DOUBLE, d DECIMAL(20,5), "
                    + "e VARCHAR(20), f BLOB, g DATE, h DATETIME(6), i TIME, j BOOL, k JSON)");
                String insert = "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
                Driver.prepared(connection, insert, VALUES);
                Driver.prepared(connection, insert, new Object[VALUES.length]);
                return Driver.prepared(connection, "SELECT * FROM calls WHERE a = ? OR a IS NULL ORDER BY a DESC", -5);
            }
        });
    }

    private static void many(String feature, String... options) {
        Report.feature(feature, () -> {
            try (Connection connection = Driver.open(options)) {
                Driver.run(connection, "DROP TABLE IF EXISTS calls");
                Driver.run(connection, "CREATE TABLE calls (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20))");
                try (PreparedStatement insert =
                    connection.prepareStatement("INSERT INTO calls (a) VALUES (?)", RETURN_GENERATED_KEYS)) {
                    for (int n = 0; n < 200; n++) {
                        insert.setString(1, "row " + n);
                        insert.addBatch();
                    }
                    String counts = IntStream.of(insert.executeBatch()).distinct().boxed().toList().toString();
                    String keys = Report.show(Driver.rows(insert.getGeneratedKeys()));
                    return counts + " keys " + keys + ", " + Driver.run(connection, "SELECT COUNT(*), MAX(a), MAX(id) FROM calls");
                }
            }
        });
    }

    private static String batchWithError() throws Exception {
        try (Connection connection = Driver.open(); Statement batch = connection.createStatement()) {
            Driver.run(connection, "DROP TABLE IF EXISTS batch");
            Driver.run(connection, "CREATE TABLE batch (id INT PRIMARY KEY)");
            for (int id : new int[] {1, 2, 1, 3}) batch.addBatch("INSERT INTO batch VALUES (" + id + ")");
            String outcome;
            try {
                outcome = Arrays.toString(batch.executeBatch());
            } catch (BatchUpdateException raised) {
                outcome = Report.error(raised) + " " + Arrays.toString(raised.getUpdateCounts());
            }
            return outcome + ", then " + Driver.run(connection, "SELECT id FROM batch ORDER BY id");
        }
    }

    private static String keys(Connection connection) throws Exception {
        Driver.run(connection, "DROP TABLE IF EXISTS calls");
        Driver.run(connection, "CREATE TABLE calls (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20))");
        String first;
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO calls (a) VALUES ('x'), ('y')", RETURN_GENERATED_KEYS);
            first = Driver.rows(statement.getGeneratedKeys());
        }
        try (PreparedStatement statement = connection.prepareStatement(
            "UPDATE calls SET id = LAST_INSERT_ID(id + 100000) WHERE a = ?", RETURN_GENERATED_KEYS)) {
            statement.setString(1, "y");
            statement.executeUpdate();
            try (ResultSet keys = statement.getGeneratedKeys()) {
                return first + ", " + Driver.rows(keys);
            }
        }
    }

    private static void changed(String feature, String useAffectedRows) {
        Report.feature(feature, () -> {
            try (Connection connection = Driver.open("useAffectedRows", useAffectedRows)) {
                Driver.run(connection, "DROP TABLE IF EXISTS changed");
                Driver.run(connection, "CREATE TABLE changed AS SELECT seq AS id, 'other' AS a FROM seq_1_to_9");
                return Driver.run(connection, "UPDATE changed SET a = 'same' WHERE id <= 3") + ", "
                    + Driver.prepared(connection, "UPDATE changed SET a = ? WHERE id <= 5", "same");
            }
        });
    }

    private static String warnings(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SELECT 1/0, CAST('1x' AS SIGNED)");
            StringBuilder shown = new StringBuilder();
            for (SQLWarning warning = statement.getWarnings(); warning != null; warning = warning.getNextWarning()) {
                shown.append(warning.getErrorCode()).append(' ').append(warning.getMessage()).append("; ");
            }
            return shown.toString();
        }
    }
}
