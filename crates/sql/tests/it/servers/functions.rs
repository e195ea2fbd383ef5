//! Every name of the table as a stored function: the server runs it, or its own.

use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use shardwright_sql::class::function_names;
use shardwright_sql::{LexMode, ReadHazards, Shape};

use super::{connect, server};

/// A native function refuses some of them; one of them is right for a stored function without parameters, and the others
/// show by their error that it was found.
const ARGUMENTS: [&str; 8] = ["", "1", "1,2", "1,2,3", "1,2,3,4", "*", "'a' AS b", "1 FROM 2"];

const WRONG_ARGUMENTS: u16 = 1318;

#[test]
fn a_call_is_built_in_only_if_no_stored_function_runs() {
    let server = server(&[]);
    let (mut connection, mode) = connect(&server);
    let mut wrong = Vec::new();
    for (name, _) in function_names().chain([("NOT_BUILT_IN", false)]) {
        let create =
            format!("CREATE FUNCTION `{name}`() RETURNS VARCHAR(20) DETERMINISTIC NO SQL RETURN 'stored'");
        connection.query_drop(create).unwrap();
        for form in [
            name.to_owned(),
            format!("{name} "),
            format!("{name}/**/"),
            format!("`{name}`"),
            format!("d.{name}"),
        ] {
            let mut runs = false;
            let mut is_said_to_be_built_in = true;
            for arguments in ARGUMENTS {
                let text = format!("SELECT {form}({arguments})");
                let runs_it = runs_stored(&mut connection, &text);
                let is_built_in = is_built_in(&text, mode);
                if runs_it && is_built_in {
                    wrong.push(format!("{text}: runs the stored function"));
                }
                runs |= runs_it;
                is_said_to_be_built_in &= is_built_in;
            }
            // A quoted or qualified name is never taken for a built-in function.
            let is_plain = !form.starts_with(['`']) && !form.starts_with("d.");
            if is_plain && !runs && !is_said_to_be_built_in {
                wrong.push(format!("{form}(: the server runs its own"));
            }
        }
        connection.query_drop(format!("DROP FUNCTION `{name}`")).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn runs_stored(connection: &mut Conn, text: &str) -> bool {
    match connection.query_first::<Row, _>(text) {
        Ok(row) => {
            let value = row.and_then(|row| row.get_opt::<String, _>(0)?.ok());
            value.as_deref() == Some("stored")
        }
        Err(mysql::Error::MySqlError(error)) => error.code == WRONG_ARGUMENTS,
        Err(error) => panic!("{text}: {error}"),
    }
}

fn is_built_in(text: &str, mode: LexMode) -> bool {
    let hazards = Shape::of(text.as_bytes(), mode).read_hazards;
    !hazards.intersects(ReadHazards::UNKNOWN_FUNCTION)
}
