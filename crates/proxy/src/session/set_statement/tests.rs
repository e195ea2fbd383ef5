//! Plans of SETs.

use super::*;

fn plan(sql: &str) -> Result<SetPlan, u16> {
    SetPlan::of(sql.as_bytes(), LexMode::default()).map_err(|error| error.code)
}

#[test]
fn names_and_autocommit_are_kept_here() {
    for sql in [
        "SET NAMES utf8mb4",
        "SET NAMES latin1 COLLATE latin1_bin",
        "SET autocommit=0",
        "SET NAMES utf8, autocommit=1",
    ] {
        assert!(plan(sql).unwrap().is_kept_here(), "{sql}");
    }
    assert_eq!(
        plan("SET NAMES latin1 COLLATE latin1_bin").unwrap().names,
        Some(SetNames {
            charset: "latin1".into(),
            collation: Some("latin1_bin".into())
        })
    );
    assert_eq!(plan("SET autocommit=0").unwrap().autocommit, Some(false));
    let of_statement = |sql: &str| {
        let statement = Statement::new(sql.as_bytes(), LexMode::default());
        SetPlan::of_statement(&statement).unwrap().unwrap()
    };
    assert!(of_statement("SET TRANSACTION READ ONLY").is_kept_here());
    // A server refuses it.
    assert!(!of_statement("SET TRANSACTION READ NOTHING").is_kept_here());
    for sql in ["SET @@tx_read_only=1", "/*!40101 SET TRANSACTION READ ONLY */"] {
        let plan = of_statement(sql);
        assert!(!plan.is_kept_here() && plan.left == SetLeft::Nothing, "{sql}");
    }
}

#[test]
fn other_variables_are_repeated() {
    for sql in [
        "SET SESSION sql_mode='STRICT_TRANS_TABLES'",
        "SET time_zone='+00:00', wait_timeout=100",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET character_set_results=NULL",
        "SET CHARACTER SET utf8",
    ] {
        let plan = plan(sql).unwrap();
        assert_eq!(plan.left, SetLeft::Replayable, "{sql}");
        assert!(!plan.is_kept_here(), "{sql}");
        assert!(plan.supersedes(), "{sql}");
    }
}

#[test]
fn what_cannot_be_repeated_is_known() {
    for sql in [
        "SET time_zone=(SELECT tz FROM t)",
        "SET ROLE admin",
        "SET insert_id=5",
        "SET time_zone='+00:00', SESSION rand_seed1=1",
        "SET time_zone='+00:00', @a=1",
        "SET @a=1, time_zone='+00:00'",
    ] {
        assert_eq!(plan(sql).unwrap().left, SetLeft::Unknown, "{sql}");
    }
    assert_eq!(plan("SET @a=1").unwrap().left, SetLeft::Nothing);
    assert!(!plan("SET @a=1, autocommit=0").unwrap().is_kept_here());
    assert!(!plan("SET NAMES latin1, @a=1").unwrap().is_kept_here());
    assert!(plan("SET GLOBAL max_connections=5").unwrap().is_global);
}

#[test]
fn the_mode_of_the_lexer_is_followed() {
    let set = |sql| plan(sql).unwrap().sql_mode.unwrap();
    let ansi = LexMode {
        ansi_quotes: true,
        ..LexMode::default()
    };
    assert_eq!(set("SET sql_mode='ANSI_QUOTES'").mode, ansi);
    assert_eq!(set("SET @old=@@sql_mode, sql_mode='ANSI'").mode, ansi);
    assert_eq!(
        set("SET @old=@@sql_mode, sql_mode='ANSI'").alone.as_deref(),
        Some(&b"SET sql_mode='ANSI'"[..])
    );
    assert_eq!(set("SET sql_mode=DEFAULT").mode, LexMode::default());
    let of_comment = |text: &str| {
        let statement = Statement::new(text.as_bytes(), LexMode::default());
        let plan = SetPlan::of_statement(&statement);
        plan.map(|plan| plan.unwrap().sql_mode.unwrap().mode)
            .map_err(|error| error.code)
    };
    assert_eq!(of_comment("/*!40101 SET sql_mode='ANSI' */"), Ok(ansi));
    assert_eq!(of_comment("/*!80000 SET sql_mode='ANSI' */"), Err(1231));
    assert_eq!(of_comment("/*!80000 SET sql_mode='' */"), Ok(LexMode::default()));
}

#[test]
fn what_literals_are_converted_to_is_known_or_taken_for_the_worst() {
    for (sql, client, connection) in [
        ("SET NAMES latin1", Some(Encoding::Ascii), Some(Encoding::Ascii)),
        ("SET collation_connection=DEFAULT", None, Some(Encoding::Other)),
        (
            "SET character_set_connection=DEFAULT",
            None,
            Some(Encoding::Other),
        ),
        (
            "SET collation_connection=@@collation_database",
            None,
            Some(Encoding::Other),
        ),
        ("SET collation_connection=utf16_bin", None, Some(Encoding::Other)),
        (
            "SET collation_connection=_utf8mb4'utf8mb4_bin'",
            None,
            Some(Encoding::Utf8mb4),
        ),
        ("SET collation_connection=45", None, Some(Encoding::Utf8mb4)),
        ("SET character_set_client=33", Some(Encoding::Utf8mb3), None),
    ] {
        let plan = plan(sql).unwrap();
        assert_eq!((plan.client, plan.connection), (client, connection), "{sql}");
    }
    assert_eq!(
        plan("SET collation_connection=DEFAULT").unwrap().left,
        SetLeft::Replayable
    );
}

#[test]
fn what_would_blind_the_lexer_is_refused() {
    for (sql, code) in [
        ("SET NAMES gbk", 1115),
        ("SET NAMES 'SJIS'", 1115),
        ("SET CHARACTER SET big5", 1115),
        ("SET character_set_client=gb18030", 1115),
        ("SET character_set_client=@a", 1115),
        ("SET NAMES DEFAULT", 1115),
        ("SET character_set_client=DEFAULT", 1115),
        // The number of a collation of gbk.
        ("SET character_set_client=28", 1115),
        // Servers say this themselves.
        ("SET NAMES ucs2", 1231),
        ("SET character_set_client=utf32", 1231),
        ("SET character_set_client=17", 1231),
        ("SET sql_mode='ORACLE'", 1231),
        ("SET SESSION sql_mode='NO_BACKSLASH_ESCAPES,MSSQL'", 1231),
        ("SET sql_mode=(SELECT a FROM t)", 1231),
    ] {
        assert_eq!(plan(sql), Err(code), "{sql}");
    }
}
