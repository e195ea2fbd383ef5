//! The published schemas and `validate` agree about each file: what one refuses, the other refuses, but for what only a look at
//! several places can tell.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use shardwright_topology::{InputFile, Options, load, schema};

use crate::schemas::sample;

/// Codes of problems that a schema of one file can see.
const OF_SHAPE: [&str; 7] = ["SW112", "SW113", "SW115", "SW116", "SW118", "SW127", "SW303"];

fn tests() -> Value {
    json!({
        "version": 1,
        "route_tests": {
            "reads go there": {"query": "SELECT 1", "session": {"user": "app", "client": "10.0.0.7"}, "expect": {"cluster": "one"}},
            "a script": {"script": [
                {"prepare": "p", "query": "SELECT 1", "expect": {"cluster": "one"}},
                {"execute": "p", "expect": {"cluster": "one"}, "after": "1s"},
            ]},
        },
    })
}

/// Values of all sorts, right in one field and wrong in another.
fn values() -> impl Strategy<Value = Value> {
    select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(-1),
        json!(70_000),
        json!(1.5),
        json!(""),
        json!("a"),
        json!("a b;c'd"),
        json!("two\nlines"),
        json!("db.internal:3306"),
        json!("::1"),
        json!("5s"),
        json!("1..5"),
        json!([]),
        json!(["a"]),
        json!([[]]),
        json!({}),
        json!({"a": 1}),
        json!({"env": "A", "file": "b"}),
    ])
}

/// One change of a file.
#[derive(Clone, Debug)]
enum Change {
    /// A value becomes another.
    Value(Index, Value),
    /// A key is called otherwise.
    Key(Index, &'static str),
    /// A field of the schema comes to an object, with one of its examples or any value.
    Field(Index, Index, Value),
    /// A field goes.
    Gone(Index),
}

fn changes() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<Index>(), values()).prop_map(|(at, value)| Change::Value(at, value)),
        (any::<Index>(), select(vec!["x.y", "x y", "unknown", "x-1", "ä"]))
            .prop_map(|(at, key)| Change::Key(at, key)),
        (any::<Index>(), any::<Index>(), values())
            .prop_map(|(at, field, value)| Change::Field(at, field, value)),
        any::<Index>().prop_map(Change::Gone),
    ]
}

/// The pointers of all values of a file, and of its objects.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                pointers(inner, &format!("{at}/{name}"), all);
            }
        }
        Value::Array(items) => {
            for (at_item, inner) in items.iter().enumerate() {
                pointers(inner, &format!("{at}/{at_item}"), all);
            }
        }
        _ => {}
    }
}

/// The schema of the value at a pointer of a file.
fn schema_at<'s>(root: &'s Value, file: &Value, pointer: &str) -> Option<&'s Value> {
    let resolved = |mut schema: &'s Value, value: &Value| {
        while let Some(target) = schema["$ref"].as_str() {
            schema = root.pointer(&target[1..]).unwrap();
        }
        if schema.get("then").is_some() && value.is_object() {
            &schema["then"]
        } else {
            schema
        }
    };
    let mut value = file;
    let mut schema = resolved(root, value);
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        value = match value {
            Value::Array(items) => items.get(part.parse::<usize>().ok()?)?,
            value => value.get(&part)?,
        };
        let next = match schema.get("items") {
            Some(items) => items,
            None => schema["properties"]
                .get(&part)
                .or_else(|| schema.get("additionalProperties"))?,
        };
        schema = resolved(next, value);
    }
    Some(schema)
}

fn apply(file: &mut Value, schema: &Value, change: &Change) {
    let mut all = Vec::new();
    pointers(file, "", &mut all);
    // The file itself and its version stay.
    all.retain(|pointer| !pointer.is_empty() && pointer != "/version");
    if all.is_empty() {
        return;
    }
    let mut objects = all.clone();
    objects.retain(|pointer| file.pointer(pointer).is_some_and(Value::is_object));
    match change {
        Change::Value(at, value) => {
            *file.pointer_mut(at.get(all.as_slice()).as_str()).unwrap() = value.clone()
        }
        Change::Gone(at) => {
            let (around, name) = at.get(all.as_slice()).rsplit_once('/').unwrap();
            if let Some(object) = file.pointer_mut(around).and_then(Value::as_object_mut) {
                object.remove(&name.replace("~1", "/"));
            }
        }
        Change::Key(at, key) => {
            let (around, name) = at.get(all.as_slice()).rsplit_once('/').unwrap();
            if let Some(object) = file.pointer_mut(around).and_then(Value::as_object_mut)
                && let Some(value) = object.remove(&name.replace("~1", "/"))
            {
                object.insert((*key).to_owned(), value);
            }
        }
        Change::Field(at, field, value) => {
            if objects.is_empty() {
                return;
            }
            let pointer = at.get(objects.as_slice()).clone();
            let Some(fields) =
                schema_at(schema, file, &pointer).and_then(|part| part["properties"].as_object())
            else {
                return;
            };
            let names: Vec<&String> = fields.keys().filter(|name| *name != "version").collect();
            if names.is_empty() {
                return;
            }
            let name = *field.get(names.as_slice());
            let examples = fields[name]["examples"].as_array();
            let value = examples.and_then(|examples| examples.first()).unwrap_or(value);
            let object = file.pointer_mut(&pointer).and_then(Value::as_object_mut).unwrap();
            object.insert(name.clone(), value.clone());
        }
    }
}

/// Whether `validate` sees something wrong with the shape of a file; all that it says.
fn refusals(files: &[(&str, &Value)]) -> Vec<(String, String)> {
    let files = files.iter().map(|(path, value)| InputFile {
        path: (*path).to_owned(),
        bytes: value.to_string().into_bytes(),
    });
    let options = Options {
        route_tests: true,
        ..Options::default()
    };
    let loaded = load(files.collect(), &options);
    // A secret in the clear is a warning, and in no schema.
    let is_refusal = |problem: &&shardwright_diagnostics::Diagnostic| {
        problem.severity == shardwright_diagnostics::Severity::Error || problem.code.as_str() == "SW127"
    };
    let problems = loaded.problems.sorted().into_iter().filter(is_refusal);
    problems
        .map(|problem| (problem.code.as_str().to_owned(), problem.message.clone()))
        .collect()
}

/// What no schema can see, by what the message says: it compares two values, or looks up the codes of this program.
const BEYOND_SCHEMAS: [&str; 2] = ["`from` is longer than `to`", "no code begins with"];

/// Files that are tried.
const FILES: usize = 300;

/// The same files each time: the list of differences is one of the language, and not of a run.
#[test]
fn a_file_is_refused_by_its_schema_when_validate_refuses_it() {
    let mut runner = TestRunner::deterministic();
    let strategy = (0..3_usize, proptest::collection::vec(changes(), 0..3));
    let schemas = [schema::topology(), schema::project(), schema::tests()];
    let validators = schemas
        .each_ref()
        .map(|schema| jsonschema::draft202012::new(schema).unwrap());
    let mut differences: BTreeMap<String, String> = BTreeMap::new();
    let mut refused = 0;
    for _ in 0..FILES {
        let (kind, changes) = strategy.new_tree(&mut runner).unwrap().current();
        let (topology, project) = sample();
        let mut files = [topology, project, tests()];
        for change in &changes {
            apply(&mut files[kind], &schemas[kind], change);
        }
        let [topology, project, tests] = &files;
        let said = refusals(&[
            ("topology/a.yaml", topology),
            ("shardwright.yaml", project),
            ("tests/t.yaml", tests),
        ]);
        let errors = validators[kind].iter_errors(&files[kind]);
        let by_schema: Vec<String> = errors
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        if said.is_empty()
            && let Some(error) = by_schema.first()
        {
            differences.insert(format!("only the schema: {error}"), format!("{changes:?}"));
        }
        let of_shape = said.iter().filter(|(code, message)| {
            OF_SHAPE.contains(&code.as_str()) && !BEYOND_SCHEMAS.iter().any(|beyond| message.contains(beyond))
        });
        let of_shape: Vec<_> = of_shape.collect();
        refused += usize::from(!by_schema.is_empty());
        if let Some((code, message)) = of_shape.first()
            && by_schema.is_empty()
        {
            differences.insert(format!("only validate: {code} {message}"), format!("{changes:?}"));
        }
    }
    assert!(refused > FILES / 4, "{refused} files are refused");
    assert!(differences.is_empty(), "{differences:#?}");
}

/// The samples themselves are right.
#[test]
fn the_samples_are_accepted() {
    let (topology, project) = sample();
    let tests = tests();
    let said = refusals(&[
        ("topology/a.yaml", &topology),
        ("shardwright.yaml", &project),
        ("tests/t.yaml", &tests),
    ]);
    assert_eq!(said, []);
    for (schema, file) in [
        (schema::topology(), topology),
        (schema::project(), project),
        (schema::tests(), tests),
    ] {
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&file)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
}

/// What a field trial found accepted by the schemas and refused by `validate`.
#[test]
fn schemas_refuse_what_readers_refuse() {
    let (topology, _) = sample();
    let changed = |file: &Value, pointer: &str, value: Value| {
        let mut file = file.clone();
        *file.pointer_mut(pointer).unwrap() = value;
        file
    };
    let with = |file: &Value, pointer: &str, field: &str, value: Value| {
        let mut file = file.clone();
        let object: &mut Map<String, Value> = file.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
        object.insert(field.to_owned(), value);
        file
    };
    let tests = tests();
    let test = "/route_tests/reads go there";
    for (name, schema, file) in [
        (
            "a plain password",
            schema::topology(),
            changed(&topology, "/users/app/password", json!("secret")),
        ),
        (
            "two references",
            schema::topology(),
            with(&topology, "/users/app/password", "file", json!("x")),
        ),
        (
            "no keys",
            schema::topology(),
            changed(&topology, "/shard_maps/m/shards/a/keys", json!([])),
        ),
        (
            "a dotted name",
            schema::topology(),
            with(&topology, "/clusters", "a.b", topology["clusters"]["one"].clone()),
        ),
        (
            "no connections",
            schema::topology(),
            with(&topology, "/clusters/one/servers/a", "max_connections", json!(0)),
        ),
        (
            "a host with blanks",
            schema::topology(),
            changed(&topology, "/clusters/one/servers/a/host", json!("a b;c'd")),
        ),
        (
            "a host on two lines",
            schema::topology(),
            changed(&topology, "/clusters/one/servers/a/host", json!("a\nb")),
        ),
        (
            "a host with its port",
            schema::topology(),
            changed(&topology, "/clusters/one/servers/a/host", json!("a:3306")),
        ),
        (
            "keys and remainders",
            schema::topology(),
            with(&topology, "/shard_maps/m/shards/a", "remainders", json!([1])),
        ),
        (
            "a test without expect",
            schema::tests(),
            changed(&tests, test, json!({"query": "SELECT 1"})),
        ),
        (
            "a script with a query",
            schema::tests(),
            with(&tests, "/route_tests/a script", "query", json!("SELECT 1")),
        ),
        (
            "a client that is no address",
            schema::tests(),
            changed(
                &tests,
                "/route_tests/reads go there/session/client",
                json!("not an address"),
            ),
        ),
    ] {
        let said = match name {
            _ if file.get("route_tests").is_some() => refusals(&[
                ("topology/a.yaml", &topology),
                ("shardwright.yaml", &sample().1),
                ("tests/t.yaml", &file),
            ]),
            _ => refusals(&[("topology/a.yaml", &file), ("shardwright.yaml", &sample().1)]),
        };
        assert!(!said.is_empty(), "validate accepts {name}");
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        assert!(!validator.is_valid(&file), "the schema accepts {name}: {said:?}");
    }
}
