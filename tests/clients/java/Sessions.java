import java.lang.reflect.InvocationTargetException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.concurrent.CompletableFuture;
import javax.sql.DataSource;

/** The state of a session, and how connections and statements end. */
final class Sessions {
    private Sessions() {}

    private static final String LEFT = "SELECT @left, SUBSTRING_INDEX(CURRENT_USER(), '@', 1), @@group_concat_max_len";

    static void features() {
        Report.feature("select a schema", () -> {
            try (Connection connection = Driver.open("schema", "")) {
                connection.setCatalog("information_schema");
                return Driver.run(connection, "SELECT DATABASE()") + " " + connection.getCatalog();
            }
        });
        Report.feature("select an unknown schema", () -> {
            try (Connection connection = Driver.open()) {
                return Report.then(() -> {
                    connection.setCatalog("nosuch");
                    return "ok";
                }, () -> Driver.run(connection, "SELECT DATABASE() = '" + Driver.SCHEMA + "'"));
            }
        });
        if (!Driver.MARIADB) {
            changed("change user", "changeUser", Report.variable("OTHER_USER"), Report.variable("PASSWORD"));
        }
        changed("reset the connection", Driver.MARIADB ? "reset" : "resetServerState");
        if (Driver.MARIADB) {
            pooled("pool", "");
            pooled("pool that resets", "&useResetConnection=true");
        }
        Report.feature("ping", () -> {
            try (Connection connection = Driver.open()) {
                return "valid: " + connection.isValid(5);
            }
        });
        Report.feature("ping after the connection was killed", () -> {
            try (Connection connection = Driver.open(); Connection killer = Driver.open()) {
                long number = Driver.number(connection, "SELECT CONNECTION_ID()");
                Driver.run(killer, "KILL " + number);
                Driver.waitFor("SELECT COUNT(*) FROM information_schema.processlist WHERE id = " + number, 0);
                return "valid: " + connection.isValid(5);
            }
        });
        Report.feature("kill a statement", () -> killed("QUERY"));
        Report.feature("kill a connection", () -> killed("CONNECTION"));
        Report.feature("cancelled by call", Sessions::cancelled);
        Report.feature("time limit of a statement", () -> {
            try (Connection connection = Driver.open(); Statement statement = connection.createStatement()) {
                // One driver asks the server for the limit, the other kills the statement.
                statement.setQueryTimeout(1);
                return Report.then(() -> Driver.rows(statement.executeQuery("SELECT BENCHMARK(1000000000000, MD5('x'))")),
                    () -> Driver.run(connection, "SELECT 1"));
            }
        });
        Report.feature("time limit of the client", () -> {
            try (Connection connection = Driver.open("socketTimeout", "1000")) {
                return Driver.run(connection, "SELECT SLEEP(20)");
            }
        });
        Report.feature("packet of 17 MiB", () -> {
            String text = "0123456789abcdef".repeat(17 << 16);
            try (Connection connection = Driver.open("useServerPrepStmts", "true");
                PreparedStatement statement = connection.prepareStatement("SELECT ?")) {
                statement.setString(1, text);
                ResultSet rows = statement.executeQuery();
                rows.next();
                return "equal: " + rows.getString(1).equals(text);
            }
        });
        Report.feature("packet that is too large", () -> {
            // Whether the error arrives before the end of the connection is chance.
            try (Connection connection = Driver.open()) {
                String outcome = Report.attempt(() -> Driver.run(connection, "SELECT LENGTH('" + "x".repeat(25 << 20) + "')"));
                return outcome.startsWith("error") ? "refused" : outcome;
            }
        });
    }

    /** A call that only this driver's connections have. */
    private static void changed(String feature, String method, String... arguments) {
        Report.feature(feature, () -> {
            try (Connection connection = Driver.open("useServerPrepStmts", "true")) {
                Driver.prepared(connection, "SELECT ?", 1);
                Driver.run(connection, "SET @left = 1, group_concat_max_len = 77");
                Class<?>[] types = new Class<?>[arguments.length];
                java.util.Arrays.fill(types, String.class);
                try {
                    connection.getClass().getMethod(method, types).invoke(connection, (Object[]) arguments);
                } catch (InvocationTargetException raised) {
                    throw (Exception) raised.getCause();
                }
                return Driver.run(connection, LEFT) + ", " + Report.attempt(() -> Driver.prepared(connection, "SELECT ?", 1));
            }
        });
    }

    private static void pooled(String feature, String option) {
        Report.feature(feature, () -> {
            String url = Driver.url(Driver.SCHEMA) + "?maxPoolSize=1&sslMode=disable" + option;
            Class<?> type = Class.forName("org.mariadb.jdbc.MariaDbPoolDataSource");
            DataSource pool = (DataSource) type.getConstructor().newInstance();
            type.getMethod("setUser", String.class).invoke(pool, Report.variable("USER"));
            type.getMethod("setPassword", String.class).invoke(pool, Report.variable("PASSWORD"));
            type.getMethod("setUrl", String.class).invoke(pool, url);
            try (Connection connection = pool.getConnection()) {
                Driver.run(connection, "SET @left = 1, group_concat_max_len = 77");
                connection.setAutoCommit(false);
            }
            try (Connection connection = pool.getConnection()) {
                return Driver.run(connection, LEFT) + " autocommit " + connection.getAutoCommit();
            } finally {
                type.getMethod("close").invoke(pool);
            }
        });
    }

    private static String killed(String kind) throws Exception {
        try (Connection connection = Driver.open(); Connection killer = Driver.open()) {
            long number = Driver.number(connection, "SELECT CONNECTION_ID()");
            String marker = "asleep " + kind;
            CompletableFuture<String> waiting = CompletableFuture.supplyAsync(() -> Report.attempt(
                () -> Driver.run(connection, "SELECT BENCHMARK(1000000000000, MD5('x')), '" + marker + "'")));
            Driver.waitUntilRunning(marker);
            Driver.run(killer, "KILL " + kind + " " + number);
            return Report.then(waiting::get, () -> Driver.run(connection, "SELECT 1"));
        }
    }

    private static String cancelled() throws Exception {
        try (Connection connection = Driver.open(); Statement statement = connection.createStatement()) {
            CompletableFuture<String> waiting = CompletableFuture.supplyAsync(() -> Report.attempt(
                () -> Driver.rows(statement.executeQuery("SELECT BENCHMARK(1000000000000, MD5('x')), 'to cancel'"))));
            Driver.waitUntilRunning("to cancel");
            statement.cancel();
            return Report.then(waiting::get, () -> Driver.run(connection, "SELECT 1"));
        }
    }
}
