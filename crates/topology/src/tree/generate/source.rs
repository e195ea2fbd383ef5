//! What is written in `for_each`.

use serde_json::{Value, json};

use crate::fields::{AnyField, EXPECTS, object, shapes};

object! {
    pub(crate) mod generator =
        "Makes one object per value, or per combination of values: `{n: 1..200}`, `{zone: [a, b]}`.";
    EXCEPT: Custom = custom(
        "except",
        "Values to leave out; with several variables, combinations such as `{n: 3, k: 1}`.",
        except_schema,
    );
}

object! {
    pub(crate) mod values =
        "A range such as `1..200` (both ends included), a list of values, or a column of a data file.";
    FROM: Part = part("from", &column::FIELDS).needed();
}

object! {
    pub(crate) mod column =
        "Makes an instance of each row of a file; `$(NAME.COLUMN)` is another cell of the row.";
    CSV: Text = text("csv", "A CSV file below the project's directory; its first row names the columns.").needed();
    COLUMN: Text = text("column", "The column that the variable takes its values from.").needed();
}

/// The schema of `for_each`.
pub(crate) fn schema() -> Value {
    json!({
        "description": generator::FIELDS.says,
        "type": "object",
        EXPECTS: "variables with their values, such as {n: 1..200}",
        "properties": shapes::mapping(generator::FIELDS.properties()),
        "additionalProperties": {
            "description": values::FIELDS.says,
            "type": ["string", "array", "object"],
            EXPECTS: "a range such as 1..200, a list, or {from: {csv: FILE, column: NAME}}",
            "items": { "type": ["string", "integer"], EXPECTS: "text or an integer" },
            "properties": shapes::mapping(values::FIELDS.properties()),
            "additionalProperties": false,
        },
    })
}

fn except_schema(says: &str) -> Value {
    json!({
        "description": says,
        "type": "array",
        EXPECTS: "a list of values to leave out",
        "items": {
            "type": ["string", "integer", "object"],
            EXPECTS: "a value to leave out",
        },
    })
}

/// Whether a key of `for_each` names a variable.
pub(crate) fn is_variable(key: &str) -> bool {
    key != generator::EXCEPT.name()
}
