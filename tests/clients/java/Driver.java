import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** The driver on the class path, and all results of a statement. */
final class Driver {
    private Driver() {}

    static final boolean MARIADB = isThere("org.mariadb.jdbc.Driver");
    static final String SCHEMA = Report.variable("SCHEMA");

    private static boolean isThere(String name) {
        try {
            Class.forName(name);
            return true;
        } catch (ClassNotFoundException absent) {
            return false;
        }
    }

    static String url(String schema) {
        String server = Report.variable("HOST") + ":" + Report.variable("PORT");
        return (MARIADB ? "jdbc:mariadb://" : "jdbc:mysql://") + server + "/" + schema;
    }

    /** A connection; options by name and value. */
    static Connection open(String... options) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", Report.variable("USER"));
        properties.setProperty("password", Report.variable("PASSWORD"));
        properties.setProperty("sslMode", MARIADB ? "disable" : "DISABLED");
        if (!MARIADB) properties.setProperty("allowPublicKeyRetrieval", "true");
        String schema = SCHEMA;
        for (int n = 0; n < options.length; n += 2) {
            if (options[n].equals("schema")) schema = options[n + 1];
            else properties.setProperty(options[n], options[n + 1]);
        }
        return DriverManager.getConnection(url(schema), properties);
    }

    /** The options by which the server's certificate is checked. */
    static String[] trusting(String authority) throws Exception {
        Path certificate = Path.of(Report.variable(authority));
        if (MARIADB) return new String[] {"sslMode", "verify-full", "serverSslCert", certificate.toString()};
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        try (InputStream in = Files.newInputStream(certificate)) {
            store.setCertificateEntry("authority", CertificateFactory.getInstance("X.509").generateCertificate(in));
        }
        Path path = Path.of(Report.variable("DIRECTORY"), authority + ".p12");
        try (OutputStream out = Files.newOutputStream(path)) {
            store.store(out, "secret".toCharArray());
        }
        return new String[] {
            "sslMode", "VERIFY_IDENTITY", "trustCertificateKeyStoreUrl", path.toUri().toString(),
            "trustCertificateKeyStoreType", "PKCS12", "trustCertificateKeyStorePassword", "secret",
        };
    }

    static String run(Connection connection, String sql) throws Exception {
        try (Statement statement = connection.createStatement()) {
            return all(statement, statement.execute(sql));
        }
    }

    static String prepared(Connection connection, String sql, Object... values) throws Exception {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int n = 0; n < values.length; n++) statement.setObject(n + 1, values[n]);
            return all(statement, statement.execute());
        }
    }

    private static String all(Statement statement, boolean hasRows) throws Exception {
        List<String> parts = new ArrayList<>();
        for (boolean rows = hasRows; ; rows = statement.getMoreResults()) {
            if (rows) {
                parts.add(rows(statement.getResultSet()));
            } else if (statement.getUpdateCount() >= 0) {
                parts.add("ok " + statement.getUpdateCount());
            } else {
                return String.join(" + ", parts);
            }
        }
    }

    static String rows(ResultSet rows) throws Exception {
        List<String> lines = new ArrayList<>();
        int width = rows.getMetaData().getColumnCount();
        while (rows.next()) {
            List<String> values = new ArrayList<>();
            for (int n = 1; n <= width; n++) {
                int column = n;
                values.add(Report.attempt(() -> Report.show(rows.getObject(column))));
            }
            lines.add("(" + String.join(", ", values) + ")");
        }
        return lines.isEmpty() ? "no rows" : String.join(" ", lines);
    }

    static long number(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    /** Waits until a count is as expected. */
    static void waitFor(String sql, long expected) throws Exception {
        try (Connection looking = open()) {
            for (long end = System.nanoTime() + 30_000_000_000L; System.nanoTime() < end; Thread.sleep(10)) {
                if (number(looking, sql) == expected) return;
            }
        }
        throw new IllegalStateException("the condition stayed false");
    }

    static void waitUntilRunning(String marker) throws Exception {
        waitFor("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%" + marker
            + "%' AND info NOT LIKE '%processlist%' AND db = DATABASE()", 1);
    }
}
