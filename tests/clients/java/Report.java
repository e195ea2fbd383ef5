import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/** What the programs here share: where to connect, and lines `feature: outcome`. */
final class Report {
    private Report() {}

    interface Work<T> {
        T run() throws Exception;
    }

    static String variable(String name) {
        String value = System.getenv("CLIENT_" + name);
        if (value == null) throw new IllegalStateException("CLIENT_" + name + " is not set");
        return value;
    }

    /** A value with its type, short, and the same in every run. */
    static String show(Object value) throws Exception {
        if (value == null) return "null";
        if (value instanceof byte[] bytes) {
            return bytes.length > 60 ? bytes.length + " bytes " + digest(bytes) : "bytes " + HexFormat.of().formatHex(bytes);
        }
        String text = value.toString();
        if (text.length() > 120) text = text.length() + " characters " + digest(text.getBytes(StandardCharsets.UTF_8));
        if (value instanceof String) return "'" + text + "'";
        return value.getClass().getSimpleName() + " " + text;
    }

    private static String digest(byte[] bytes) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("MD5").digest(bytes));
    }

    /** A server's error by its number and state, another one by its first words. */
    static String error(Throwable raised) {
        if (raised instanceof SQLException sql && sql.getErrorCode() > 0) return "error " + sql.getErrorCode();
        // The driver's own numbers are negative or 0; a message may hold numbers of the connection. Of several variables that were changed
        // it names the one that the server tells of first, in an order of its own.
        String message = String.valueOf(raised.getMessage()).replaceAll("character_set_[a-z]+", "character set");
        String[] words = message.split("\\s+");
        String first = String.join(" ", Arrays.copyOf(words, Math.min(words.length, 4)));
        String state = raised instanceof SQLException sql ? " " + sql.getSQLState() : "";
        return "error " + raised.getClass().getSimpleName() + state + " " + first.replaceAll("[0-9]+", "N");
    }

    static String attempt(Work<String> work) {
        try {
            return work.run();
        } catch (Exception raised) {
            return error(raised);
        }
    }

    static void say(String feature, String outcome) {
        System.out.println(feature + ": " + outcome.replace("\n", "\\n").replace("\r", "\\r"));
    }

    static void feature(String name, Work<String> work) {
        if (!List.of(variable("LEFT_OUT").split(", ")).contains(name)) say(name, attempt(work));
    }

    /** The outcome of one step, and of the next. */
    static String then(Work<String> first, Work<String> next) {
        return attempt(first) + ", then " + attempt(next);
    }

    record Block(String name, List<String> statements) {}

    /** The blocks of `statements.sql`: a name and its statements. */
    static List<Block> blocks() throws Exception {
        String[] parts = Files.readString(Path.of(variable("STATEMENTS"))).split("\n\n");
        List<Block> blocks = new ArrayList<>();
        for (String part : Arrays.asList(parts).subList(1, parts.length)) {
            String[] lines = part.strip().split("\n");
            List<String> statements = new ArrayList<>();
            for (String line : Arrays.asList(lines).subList(1, lines.length)) statements.add(line.replaceFirst(";$", ""));
            blocks.add(new Block(lines[0].replaceFirst("^-- ", ""), statements));
        }
        return blocks;
    }
}
