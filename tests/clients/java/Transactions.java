import java.sql.Connection;
import java.sql.Savepoint;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/** Transactions by the driver's own calls. */
final class Transactions {
    private Transactions() {}

    static void features() throws Exception {
        try (Connection first = Driver.open(); Connection second = Driver.open()) {
            Driver.run(first, "DROP TABLE IF EXISTS calls");
            Driver.run(first, "CREATE TABLE calls (id INT PRIMARY KEY, a INT)");
            Report.feature("transaction by call", () -> {
                first.setAutoCommit(false);
                Driver.run(first, "INSERT INTO calls VALUES (1, 1)");
                first.rollback();
                Driver.prepared(first, "INSERT INTO calls VALUES (?, 2), (3, ?)", 2, 3);
                Savepoint savepoint = first.setSavepoint("a");
                Driver.run(first, "INSERT INTO calls VALUES (4, 4)");
                first.rollback(savepoint);
                String outside = Driver.run(second, "SELECT COUNT(*) FROM calls");
                first.commit();
                return outside + ", " + Driver.run(second, "SELECT * FROM calls ORDER BY id");
            });
            Report.feature("autocommit off", () -> {
                Driver.run(first, "INSERT INTO calls VALUES (5, 5)");
                // This switch commits.
                first.setAutoCommit(true);
                return Driver.run(second, "SELECT COUNT(*) FROM calls") + Driver.run(first, "SELECT @@autocommit");
            });
            Report.feature("isolation level", () -> {
                first.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                String shown = Driver.run(first, "SELECT @@tx_isolation") + " " + first.getTransactionIsolation();
                first.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
                return shown;
            });
            Report.feature("read only", () -> {
                first.setReadOnly(true);
                first.setAutoCommit(false);
                String refused = Report.attempt(() -> Driver.run(first, "INSERT INTO calls VALUES (6, 6)"));
                first.rollback();
                first.setReadOnly(false);
                return refused + ", then " + Driver.run(first, "INSERT INTO calls VALUES (7, 7)");
            });
            first.rollback();
            Report.feature("two connections", () -> {
                Driver.run(second, "SET SESSION innodb_lock_wait_timeout = 1");
                Driver.run(first, "UPDATE calls SET a = 5 WHERE id = 2");
                String waited = Report.attempt(() -> Driver.run(second, "UPDATE calls SET a = 6 WHERE id = 2"));
                first.rollback();
                return waited;
            });
            Report.feature("deadlock", () -> deadlock(first, second));
        }
    }

    private static String deadlock(Connection first, Connection second) throws Exception {
        second.setAutoCommit(false);
        for (Connection connection : new Connection[] {first, second}) {
            Driver.run(connection, "SET SESSION innodb_lock_wait_timeout = 50");
        }
        Driver.run(first, "UPDATE calls SET a = 7 WHERE id = 2");
        Driver.run(second, "UPDATE calls SET a = 8 WHERE id = 3");
        CompletableFuture<String> waiting = CompletableFuture.supplyAsync(
            () -> Report.attempt(() -> Driver.run(first, "UPDATE calls SET a = 9 /* dead lock */ WHERE id = 3")));
        Driver.waitUntilRunning("dead lock");
        String other = Report.attempt(() -> Driver.run(second, "UPDATE calls SET a = 10 WHERE id = 2"));
        String outcome = String.join(", ", Stream.of(other, waiting.get()).sorted().toList());
        first.rollback();
        second.rollback();
        return outcome;
    }
}
