//! The functions built into MySQL and MariaDB, and what calling one means for routing.

/// What a call means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Computes from its arguments, the clock or chance; writes nothing and keeps nothing.
    Pure,
    /// Takes, frees or asks for a named lock, which lives on one server.
    NamedLock,
    /// Speaks of the session or its connection.
    Session,
    /// `LAST_INSERT_ID`, which also sets what it reads.
    InsertId,
    /// Reads or advances a sequence.
    Sequence,
    /// Answers for one server: its files, its replication.
    Server,
    /// Not built in: a stored function or a loaded one.
    Unknown,
}

/// No built-in name is longer.
const LONGEST: usize = 40;

/// What `name (` calls; `None` if `name` is a keyword that is no function. `adjacent`: no blank before the `(`; some
/// built-in functions are only found without one, and a stored function of that name is called with one.
pub(crate) fn meaning_of(name: &[u8], adjacent: bool) -> Option<Meaning> {
    let mut buffer = [0; LONGEST];
    let Some(upper) = buffer.get_mut(..name.len()) else {
        return Some(Meaning::Unknown);
    };
    upper.copy_from_slice(name);
    upper.make_ascii_uppercase();
    let upper = &*upper;
    let is_in = |sorted: &[&str]| {
        sorted
            .binary_search_by(|entry| entry.as_bytes().cmp(upper))
            .is_ok()
    };
    if is_in(&KEYWORDS) {
        return None;
    }
    if !adjacent && is_in(&ADJACENT) {
        return Some(Meaning::Unknown);
    }
    let meanings = [
        (PURE.as_slice(), Meaning::Pure),
        (&NAMED_LOCK, Meaning::NamedLock),
        (&SESSION, Meaning::Session),
        (&INSERT_ID, Meaning::InsertId),
        (&SEQUENCE, Meaning::Sequence),
        (&SERVER, Meaning::Server),
    ];
    let known = meanings
        .into_iter()
        .find(|(names, _)| is_in(names))
        .map(|(_, meaning)| meaning);
    Some(known.unwrap_or(Meaning::Unknown))
}

/// The built-in functions that keep a SELECT on the writer.
pub(crate) fn calls_of_no_read() -> impl Iterator<Item = &'static str> {
    let names = NAMED_LOCK.iter().chain(&SESSION).chain(&INSERT_ID);
    names.chain(&SEQUENCE).chain(&SERVER).copied()
}

/// Keywords and types that a `(` can follow without a call.
#[rustfmt::skip]
const KEYWORDS: [&str; 92] = [
    "ALL", "AND", "ANY", "AS", "BETWEEN", "BIGINT", "BIT", "BY", "CASE", "COLLATE", "COLUMNS", "CONSTRAINT",
    "CROSS", "DATETIME", "DEC", "DECIMAL", "DISTINCT", "DISTINCTROW", "DIV", "DOUBLE", "DUPLICATE", "ELSE",
    "EXCEPT", "EXISTS", "FIXED", "FLOAT", "FOR", "FROM", "FULL", "GROUP", "HAVING", "IN", "INDEX", "INNER",
    "INT", "INTEGER", "INTERSECT", "INTO", "IS", "JOIN", "KEY", "KEYS", "LATERAL", "LIKE", "LIMIT",
    "MEDIUMINT", "MEMBER", "MINUS", "NATURAL", "NCHAR", "NOT", "NULL", "NUMERIC", "NVARCHAR", "OF",
    "OFFSET", "ON", "OR", "ORDER", "OUTER", "OVER", "PARTITION", "PATH", "REAL", "RECURSIVE", "REGEXP",
    "RETURNING", "RLIKE", "ROLLUP", "ROW", "SELECT", "SET", "SIGNED", "SMALLINT", "SOME", "STRAIGHT_JOIN",
    "TABLE", "THEN", "TINYINT", "UNION", "UNSIGNED", "UPDATE", "USING", "VALUE", "VALUES", "VARBINARY",
    "VARCHAR", "WHEN", "WHERE", "WINDOW", "WITH", "XOR",
];

/// Built-in names that the server takes for a call of its own only directly before the `(`.
#[rustfmt::skip]
const ADJACENT: [&str; 32] = [
    "ADDDATE", "BIT_AND", "BIT_OR", "BIT_XOR", "CAST", "COUNT", "CURDATE", "CURTIME", "DATE_ADD",
    "DATE_SUB", "EXTRACT", "GROUP_CONCAT", "MAX", "MID", "MIN", "NOW", "POSITION", "SESSION_USER", "STD",
    "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "SUBDATE", "SUBSTR", "SUBSTRING", "SUM", "SYSDATE",
    "SYSTEM_USER", "TRIM", "VARIANCE", "VAR_POP", "VAR_SAMP",
];

const NAMED_LOCK: [&str; 5] = [
    "GET_LOCK",
    "IS_FREE_LOCK",
    "IS_USED_LOCK",
    "RELEASE_ALL_LOCKS",
    "RELEASE_LOCK",
];

const SESSION: [&str; 14] = [
    "CONNECTION_ID",
    "FOUND_ROWS",
    "MASTER_GTID_WAIT",
    "MASTER_POS_WAIT",
    "PS_CURRENT_THREAD_ID",
    "ROW_COUNT",
    "SOURCE_POS_WAIT",
    "SQLCODE",
    "SQLERRM",
    "WAIT_FOR_EXECUTED_GTID_SET",
    "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS",
    "WSREP_LAST_SEEN_GTID",
    "WSREP_LAST_WRITTEN_GTID",
    "WSREP_SYNC_WAIT_UPTO_GTID",
];

const INSERT_ID: [&str; 1] = ["LAST_INSERT_ID"];

const SEQUENCE: [&str; 4] = ["CURRVAL", "LASTVAL", "NEXTVAL", "SETVAL"];

const SERVER: [&str; 4] = ["BINLOG_GTID_POS", "LOAD_FILE", "PS_THREAD_ID", "UUID_SHORT"];

#[rustfmt::skip]
const PURE: [&str; 360] = [
    "ABS", "ACOS", "ADDDATE", "ADDTIME", "ADD_MONTHS", "AES_DECRYPT", "AES_ENCRYPT", "AGAINST", "ANY_VALUE",
    "AREA", "ASCII", "ASIN", "ATAN", "ATAN2", "AVG", "BENCHMARK", "BIN", "BINARY", "BIN_TO_UUID", "BIT_AND",
    "BIT_COUNT", "BIT_LENGTH", "BIT_OR", "BIT_XOR", "CAST", "CEIL", "CEILING", "CHAR", "CHARACTER_LENGTH",
    "CHARSET", "CHAR_LENGTH", "CHR", "COALESCE", "COERCIBILITY", "COLLATION", "COLUMN_ADD", "COLUMN_CHECK",
    "COLUMN_CREATE", "COLUMN_DELETE", "COLUMN_EXISTS", "COLUMN_GET", "COLUMN_JSON", "COLUMN_LIST",
    "COMPRESS", "CONCAT", "CONCAT_WS", "CONV", "CONVERT", "CONVERT_TZ", "COS", "COT", "COUNT", "CRC32",
    "CRC32C", "CUME_DIST", "CURDATE", "CURRENT_DATE", "CURRENT_ROLE", "CURRENT_TIME", "CURRENT_TIMESTAMP",
    "CURRENT_USER", "CURTIME", "DATABASE", "DATE", "DATEDIFF", "DATE_ADD", "DATE_FORMAT", "DATE_SUB", "DAY",
    "DAYNAME", "DAYOFMONTH", "DAYOFWEEK", "DAYOFYEAR", "DECODE", "DECODE_ORACLE", "DEFAULT", "DEGREES",
    "DENSE_RANK", "DES_DECRYPT", "DES_ENCRYPT", "ELT", "ENCODE", "ENCRYPT", "EXP", "EXPORT_SET", "EXTRACT",
    "EXTRACTVALUE", "FIELD", "FIND_IN_SET", "FIRST_VALUE", "FLOOR", "FORMAT", "FORMAT_BYTES",
    "FORMAT_PICO_TIME", "FROM_BASE64", "FROM_DAYS", "FROM_UNIXTIME", "GET_FORMAT", "GREATEST", "GROUPING",
    "GROUP_CONCAT", "GTID_SUBSET", "GTID_SUBTRACT", "HEX", "HOUR", "ICU_VERSION", "IF", "IFNULL",
    "INET6_ATON", "INET6_NTOA", "INET_ATON", "INET_NTOA", "INSERT", "INSTR", "INTERVAL", "ISNULL",
    "IS_IPV4", "IS_IPV4_COMPAT", "IS_IPV4_MAPPED", "IS_IPV6", "IS_UUID", "JSON_ARRAY", "JSON_ARRAYAGG",
    "JSON_ARRAY_APPEND", "JSON_ARRAY_INSERT", "JSON_COMPACT", "JSON_CONTAINS", "JSON_CONTAINS_PATH",
    "JSON_DEPTH", "JSON_DETAILED", "JSON_EQUALS", "JSON_EXISTS", "JSON_EXTRACT", "JSON_INSERT", "JSON_KEYS",
    "JSON_LENGTH", "JSON_LOOSE", "JSON_MERGE", "JSON_MERGE_PATCH", "JSON_MERGE_PRESERVE", "JSON_NORMALIZE",
    "JSON_OBJECT", "JSON_OBJECTAGG", "JSON_OVERLAPS", "JSON_PRETTY", "JSON_QUERY", "JSON_QUOTE",
    "JSON_REMOVE", "JSON_REPLACE", "JSON_SCHEMA_VALID", "JSON_SEARCH", "JSON_SET", "JSON_STORAGE_FREE",
    "JSON_STORAGE_SIZE", "JSON_TABLE", "JSON_TYPE", "JSON_UNQUOTE", "JSON_VALID", "JSON_VALUE", "KDF",
    "LAG", "LAST_DAY", "LAST_VALUE", "LCASE", "LEAD", "LEAST", "LEFT", "LENGTH", "LENGTHB", "LINESTRING",
    "LN", "LOCALTIME", "LOCALTIMESTAMP", "LOCATE", "LOG", "LOG10", "LOG2", "LOWER", "LPAD", "LTRIM",
    "MAKEDATE", "MAKETIME", "MAKE_SET", "MATCH", "MAX", "MD5", "MEDIAN", "MICROSECOND", "MID", "MIN",
    "MINUTE", "MOD", "MONTH", "MONTHNAME", "MONTHS_BETWEEN", "NAME_CONST", "NATURAL_SORT_KEY", "NOW",
    "NTH_VALUE", "NTILE", "NULLIF", "NVL", "NVL2", "OCT", "OCTET_LENGTH", "OLD_PASSWORD", "ORD", "PASSWORD",
    "PERCENTILE_CONT", "PERCENTILE_DISC", "PERCENT_RANK", "PERIOD_ADD", "PERIOD_DIFF", "PI", "POINT",
    "POLYGON", "POSITION", "POW", "POWER", "QUARTER", "QUOTE", "RADIANS", "RAND", "RANDOM_BYTES", "RANK",
    "REGEXP_INSTR", "REGEXP_LIKE", "REGEXP_REPLACE", "REGEXP_SUBSTR", "REPEAT", "REPLACE", "REVERSE",
    "RIGHT", "ROUND", "ROWNUM", "ROW_NUMBER", "RPAD", "RTRIM", "SCHEMA", "SECOND", "SEC_TO_TIME",
    "SESSION_USER", "SFORMAT", "SHA", "SHA1", "SHA2", "SIGN", "SIN", "SLEEP", "SOUNDEX", "SPACE", "SQRT",
    "STATEMENT_DIGEST", "STATEMENT_DIGEST_TEXT", "STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "STRCMP",
    "STR_TO_DATE", "ST_AREA", "ST_ASBINARY", "ST_ASGEOJSON", "ST_ASTEXT", "ST_ASWKB", "ST_ASWKT",
    "ST_BUFFER", "ST_CENTROID", "ST_CONTAINS", "ST_CONVEXHULL", "ST_CROSSES", "ST_DIFFERENCE",
    "ST_DIMENSION", "ST_DISJOINT", "ST_DISTANCE", "ST_DISTANCE_SPHERE", "ST_ENDPOINT", "ST_ENVELOPE",
    "ST_EQUALS", "ST_GEOHASH", "ST_GEOMETRYTYPE", "ST_GEOMFROMGEOJSON", "ST_GEOMFROMTEXT", "ST_GEOMFROMWKB",
    "ST_INTERSECTION", "ST_INTERSECTS", "ST_ISEMPTY", "ST_ISVALID", "ST_LATITUDE", "ST_LENGTH",
    "ST_LONGITUDE", "ST_NUMPOINTS", "ST_OVERLAPS", "ST_POINTFROMTEXT", "ST_POINTN", "ST_POLYFROMTEXT",
    "ST_SRID", "ST_STARTPOINT", "ST_TOUCHES", "ST_UNION", "ST_WITHIN", "ST_X", "ST_Y", "SUBDATE", "SUBSTR",
    "SUBSTRB", "SUBSTRING", "SUBSTRING_INDEX", "SUBTIME", "SUM", "SYSDATE", "SYSTEM_USER", "SYS_GUID",
    "TAN", "TIME", "TIMEDIFF", "TIMESTAMP", "TIMESTAMPADD", "TIMESTAMPDIFF", "TIME_FORMAT", "TIME_TO_SEC",
    "TO_BASE64", "TO_CHAR", "TO_DAYS", "TO_NUMBER", "TO_SECONDS", "TRIM", "TRIM_ORACLE", "TRUNCATE",
    "UCASE", "UNCOMPRESS", "UNCOMPRESSED_LENGTH", "UNHEX", "UNIX_TIMESTAMP", "UPDATEXML", "UPPER", "USER",
    "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP", "UUID", "UUID_TO_BIN", "UUID_V4", "UUID_V7",
    "VALIDATE_PASSWORD_STRENGTH", "VARIANCE", "VAR_POP", "VAR_SAMP", "VEC_DISTANCE", "VEC_DISTANCE_COSINE",
    "VEC_DISTANCE_EUCLIDEAN", "VEC_FROMTEXT", "VEC_TOTEXT", "VERSION", "WEEK", "WEEKDAY", "WEEKOFYEAR",
    "WEIGHT_STRING", "YEAR", "YEARWEEK",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_disjoint() {
        let lists: [&[&str]; 6] = [&KEYWORDS, &NAMED_LOCK, &SESSION, &SEQUENCE, &SERVER, &PURE];
        let mut all: Vec<&str> = Vec::new();
        for list in lists.into_iter().chain([ADJACENT.as_slice()]) {
            assert!(list.windows(2).all(|pair| pair[0] < pair[1]), "{list:?}");
        }
        lists.iter().for_each(|list| all.extend(*list));
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(all.iter().all(|name| name.len() <= LONGEST));
    }
}
