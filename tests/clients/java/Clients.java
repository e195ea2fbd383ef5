import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.util.ArrayList;
import java.util.List;

/** A JDBC driver: MariaDB Connector/J, or MySQL Connector/J. */
public final class Clients {
    private Clients() {}

    public static void main(String[] arguments) throws Exception {
        try (Connection connection = Driver.open()) {
            DatabaseMetaData about = connection.getMetaData();
            String version = about.getDriverVersion().replaceFirst("^mysql-connector-j-", "").replaceFirst(" .*", "");
            Report.say("client", (Driver.MARIADB ? "MariaDB Connector/J " : "MySQL Connector/J ") + version);
        }
        connecting();
        Writing.features();
        Reading.features();
        Transactions.features();
        Sessions.features();
        everyStatement("", Driver::run, "allowMultiQueries", "true");
        // MariaDB Connector/J waits without end, also for a server, when a prepared CALL fails behind a result.
        everyStatement(", prepared", Driver::prepared, "useServerPrepStmts", "true", "socketTimeout", "3000");
        System.exit(0);
    }

    interface Ask {
        String run(Connection connection, String sql) throws Exception;
    }

    private static void everyStatement(String suffix, Ask ask, String... options) throws Exception {
        for (Report.Block block : Report.blocks()) {
            Report.feature(block.name() + suffix, () -> {
                try (Connection connection = Driver.open(options)) {
                    List<String> outcomes = new ArrayList<>();
                    for (String sql : block.statements()) outcomes.add(Report.attempt(() -> ask.run(connection, sql)));
                    return String.join(" ; ", outcomes);
                }
            });
        }
    }

    private static void selecting(String feature, String sql, String... options) {
        Report.feature(feature, () -> {
            try (Connection connection = Driver.open(options)) {
                return Driver.run(connection, sql);
            }
        });
    }

    private static void connecting() throws Exception {
        selecting("connect", "SELECT DATABASE() = '" + Driver.SCHEMA + "'");
        selecting("connect without a schema", "SELECT DATABASE()", "schema", "");
        selecting("connect with a wrong password", "SELECT 1", "password", "wrong");
        selecting("connect as an unknown user", "SELECT 1", "user", Report.variable("UNKNOWN_USER"));
        selecting("connect to an unknown schema", "SELECT 1", "schema", "nosuch");
        selecting("connect with TLS", "SELECT 1", Driver.trusting("AUTHORITY"));
        selecting("connect with TLS of another authority", "SELECT 1", Driver.trusting("STRANGER"));
        selecting("connect with TLS if there is TLS", "SELECT 1", "sslMode", Driver.MARIADB ? "trust" : "PREFERRED");
        selecting("connect with compression", "SELECT REPEAT('x', 1000000)", "useCompression", "true");
        String variables = "group_concat_max_len=77,sql_mode='STRICT_ALL_TABLES'";
        selecting("connect with a first statement", "SELECT @@group_concat_max_len, @@sql_mode", "sessionVariables", variables);
        selecting("connect with attributes", "SELECT 1", "connectionAttributes", "program_name:shop,team:é");
        if (!Driver.MARIADB) {
            selecting("character set latin1", "SELECT 'né', HEX('né'), @@character_set_client", "characterEncoding", "ISO-8859-1");
        }
        Report.feature("version in the greeting", () -> {
            try (Connection connection = Driver.open()) {
                DatabaseMetaData about = connection.getMetaData();
                return about.getDatabaseProductName() + " " + about.getDatabaseProductVersion();
            }
        });
    }
}
