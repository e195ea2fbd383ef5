//! The shape of an environment.

use serde_json::{Value, json};

use super::version;
use crate::fields::shapes::{EXPECTS, map, object};

pub(super) fn environment() -> Value {
    let value = json!({
        "description": "The value of the variable in this environment.",
        "type": ["string", "integer"],
        EXPECTS: "text or an integer",
    });
    let patch = json!({
        "description": "The value at an address, such as `clusters.pay.servers.pxc3.state: draining`.",
        "type": "object",
        EXPECTS: "a mapping of addresses to values",
        "additionalProperties": {
            "description": "What is set at this address, as a whole.",
        },
    });
    object(
        "What one environment changes: values of variables, and patches of the topology and the project file.",
        [
            ("version", version()),
            (
                "variables",
                map("Values of the variables that the topology declares.", value),
            ),
            ("patch", patch),
        ],
    )
}
