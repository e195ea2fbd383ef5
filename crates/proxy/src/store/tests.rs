//! What survives in a data directory, and what is said of one that is not as it should be.

use std::os::unix::fs::{FileExt, PermissionsExt};

use super::*;

fn generation(number: i64) -> Generation {
    let configuration = format!("{{\"n\":{number},\"filler\":\"{}\"}}", "x".repeat(20_000));
    Generation {
        number,
        fingerprint: shardwright_rules::fingerprint(configuration.as_bytes()),
        project: (number % 2 == 0).then(|| "shop".to_owned()),
        configuration,
    }
}

fn open(directory: &Path) -> Result<Store, StoreError> {
    Store::open(directory, Meant::default())
}

fn last(store: &mut Store) -> Option<Generation> {
    let restorable = store.restorable().unwrap();
    assert_eq!(restorable.damage, Vec::<String>::new());
    restorable.generation
}

fn applied(directory: &Path, count: i64) {
    let mut store = open(directory).unwrap();
    for number in 1..=count {
        store.append(&generation(number), FailPoints::default()).unwrap();
    }
}

/// With the directory of `docs/running.md`, which has to have the text, whatever the numbers.
fn said(directory: &Path, text: &dyn std::fmt::Display) -> String {
    let text = text
        .to_string()
        .replace(directory.to_str().unwrap(), "/var/lib/shardwright");
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/running.md");
    let page = without_numbers(&fs::read_to_string(page).unwrap());
    for line in text.lines() {
        assert!(
            page.contains(&without_numbers(line)),
            "docs/running.md does not say: {line}"
        );
    }
    text.replace("/var/lib/shardwright", "DIR")
}

fn without_numbers(text: &str) -> String {
    let parts = text.split(|c: char| c.is_ascii_digit());
    parts
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("#")
}

fn refused(directory: &Path, meant: Meant<'_>) -> String {
    let opened = Store::open(directory, meant).and_then(|mut store| store.restorable().map(drop));
    said(directory, &opened.unwrap_err())
}

/// The generation that is served, and what is said of that.
fn restored(directory: &Path) -> (i64, String) {
    let restorable = open(directory).unwrap().restorable().unwrap();
    let number = restorable.generation.map_or(0, |generation| generation.number);
    (number, said(directory, &restorable.damage.join("\n")))
}

#[test]
fn the_last_generation_is_there_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = open(directory.path()).unwrap();
    assert_eq!(last(&mut store), None);
    drop(store);
    applied(directory.path(), 25);
    let mut store = open(directory.path()).unwrap();
    assert_eq!(last(&mut store), Some(generation(25)));
    let (kept, _) = database::numbers(&store.connection).unwrap();
    assert_eq!(kept.len() as i64, KEPT_GENERATIONS);
}

#[test]
fn what_was_applied_before_projects_had_names_belongs_to_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let seventh = generation(7);
    let database = Connection::open(directory.path().join("shardwright.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE generations (generation INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL,
                 configuration TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;
             PRAGMA user_version = 1;",
        )
        .unwrap();
    database
        .execute(
            "INSERT INTO generations VALUES (7, ?1, ?2, 1)",
            params![seventh.fingerprint, seventh.configuration],
        )
        .unwrap();
    drop(database);
    let mut store = open(directory.path()).unwrap();
    assert_eq!(last(&mut store), Some(seventh));
    store.append(&generation(8), FailPoints::default()).unwrap();
    drop(store);
    let mut store = open(directory.path()).unwrap();
    assert_eq!(last(&mut store).unwrap().project.as_deref(), Some("shop"));
}

/// What this release writes; the next one reads it, or says why not.
#[test]
fn generations_of_version_2_are_read_and_later_ones_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shardwright.db");
    let database = Connection::open(path).unwrap();
    let sql = "CREATE TABLE generations (generation INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL,
                   configuration TEXT NOT NULL, applied_at INTEGER NOT NULL, project TEXT) STRICT;
               INSERT INTO generations VALUES
                   (8, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a', '{}', 1764000000, 'shop');
               PRAGMA user_version = 2;";
    database.execute_batch(sql).unwrap();
    let mut store = open(directory.path()).unwrap();
    assert_eq!(last(&mut store).map(|generation| generation.number), Some(8));
    drop(store);
    database.execute_batch("PRAGMA user_version = 3").unwrap();
    insta::assert_snapshot!(refused(directory.path(), Meant::default()), @"DIR/shardwright.db: written by a later version of shardwright (format 3); run that version, or start with an empty --data-dir and apply");
}

#[test]
fn a_number_is_taken_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = open(directory.path()).unwrap();
    store.append(&generation(1), FailPoints::default()).unwrap();
    assert!(store.append(&generation(1), FailPoints::default()).is_err());
    assert_eq!(last(&mut store), Some(generation(1)));
    assert_eq!(store.next_number(), 2);
}

#[test]
fn one_owner_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let first = open(directory.path()).unwrap();
    insta::assert_snapshot!(refused(directory.path(), Meant::default()), @"DIR: another proxy runs on this data directory; give each proxy its own --data-dir");
    drop(first);
    open(directory.path()).unwrap();
}

#[test]
fn a_directory_belongs_to_the_proxy_that_was_named_first() {
    let directory = tempfile::tempdir().unwrap();
    let start = |name| {
        let meant = Meant {
            name: Some(name),
            ..Meant::default()
        };
        Store::open(directory.path(), meant).and_then(|mut store| store.restorable().map(drop))
    };
    start("px-a").unwrap();
    start("px-a").unwrap();
    insta::assert_snapshot!(said(directory.path(), &start("px-b").unwrap_err()), @"DIR: this data directory belongs to the proxy px-a, and --name says px-b; give each proxy its own --data-dir");
    // Who has no name is not asked for it.
    open(directory.path()).unwrap();
}

#[test]
fn a_directory_that_has_to_hold_a_configuration_and_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let meant = Meant {
        holds_configuration: true,
        ..Meant::default()
    };
    insta::assert_snapshot!(refused(directory.path(), meant), @"DIR: no configuration was applied to this data directory, and --require-configuration is set; look whether its volume is mounted, or omit the option until the first apply");
    assert_eq!(
        fs::read_dir(directory.path()).unwrap().count(),
        0,
        "nothing was made there"
    );
    open(directory.path()).unwrap();
    assert_eq!(
        refused(directory.path(), meant),
        "DIR: no configuration was applied to this data directory, and --require-configuration is set; look whether its volume is mounted, or omit the option until the first apply"
    );
    applied(directory.path(), 1);
    Store::open(directory.path(), meant)
        .unwrap()
        .restorable()
        .unwrap();
}

#[test]
fn a_database_that_is_gone_is_not_a_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("shardwright.db");
    applied(directory.path(), 3);
    fs::remove_file(&database).unwrap();
    insta::assert_snapshot!(refused(directory.path(), Meant::default()), @"DIR/shardwright.db: the file is missing or empty, and generation 3 was applied; put back a copy of it, or start with an empty --data-dir and apply");
    fs::write(&database, "").unwrap();
    insta::assert_snapshot!(refused(directory.path(), Meant::default()), @"DIR/shardwright.db: the file is missing or empty, and generation 3 was applied; put back a copy of it, or start with an empty --data-dir and apply");
    let meant = Meant {
        holds_configuration: true,
        ..Meant::default()
    };
    assert!(refused(directory.path(), meant).contains("generation 3 was applied"));
    fs::write(directory.path().join("proxy.json"), "").unwrap();
    assert!(refused(directory.path(), Meant::default()).contains("a configuration was applied"));
    // Of an earlier version, only what monitors remember is left.
    fs::remove_file(directory.path().join("proxy.json")).unwrap();
    fs::write(directory.path().join(ROLES), "{}").unwrap();
    insta::assert_snapshot!(refused(directory.path(), Meant::default()), @"DIR/shardwright.db: the file is missing or empty, and a configuration was applied; put back a copy of it, or start with an empty --data-dir and apply");
    // A backup of before the last apply.
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("shardwright.db");
    applied(directory.path(), 3);
    let backup = fs::read(&database).unwrap();
    let mut store = open(directory.path()).unwrap();
    store.append(&generation(4), FailPoints::default()).unwrap();
    drop(store);
    fs::write(&database, backup).unwrap();
    let (served, told) = restored(directory.path());
    assert_eq!(served, 3);
    insta::assert_snapshot!(told, @"DIR/shardwright.db: generation 4 was applied and is not there; generation 3 is served, and an apply brings back what is missing");
    // A database without any generation.
    fs::remove_file(&database).unwrap();
    drop(database::open(&database).unwrap());
    insta::assert_snapshot!(refused(directory.path(), Meant::default()), @"DIR/shardwright.db: the file is damaged (no generation in it is whole, and 4 was applied); put back a copy of it, or start with an empty --data-dir and apply");
}

#[test]
fn what_is_no_file_is_not_taken_for_one() {
    for name in [LOCK, DATABASE, record::NAME, ROLES] {
        for was_applied in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            if was_applied {
                applied(directory.path(), 2);
            }
            let path = directory.path().join(name);
            if path.exists() {
                fs::remove_file(&path).unwrap();
            }
            fs::create_dir(&path).unwrap();
            let error = open(directory.path()).unwrap_err().to_string();
            assert_eq!(
                error.strip_prefix(path.to_str().unwrap()),
                Some(
                    ": this is not a file; put back the file that was there, or remove this if there was none"
                )
            );
            assert!(path.is_dir(), "nothing is done to it");
            if name == ROLES {
                refused(directory.path(), Meant::default());
            }
        }
    }
}

/// Where a text is last in a file.
fn last_place(file: &[u8], text: &[u8]) -> u64 {
    let at = file.windows(text.len()).rposition(|window| window == text);
    at.unwrap() as u64
}

#[test]
fn the_newest_generation_that_is_whole_is_served() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("shardwright.db");
    applied(directory.path(), 10);
    let content = fs::read(&database).unwrap();
    let file = File::options().write(true).open(&database).unwrap();
    // One byte of what was applied, as a bad block changes it.
    file.write_all_at(b"#", last_place(&content, b"\"n\":10"))
        .unwrap();
    let (served, told) = restored(directory.path());
    assert_eq!(served, 9);
    insta::assert_snapshot!(told, @"DIR/shardwright.db: generation 10 is damaged; generation 9 is served, and an apply brings back what is missing");
    // Not even text.
    file.write_all_at(b"\xff", last_place(&content, b"\"n\":9"))
        .unwrap();
    let (served, told) = restored(directory.path());
    assert_eq!(served, 8);
    insta::assert_snapshot!(told, @"DIR/shardwright.db: generation 10 is damaged, generation 9 is damaged; generation 8 is served, and an apply brings back what is missing");
    // The next one has a number that none of them had, and all is well.
    let mut store = open(directory.path()).unwrap();
    assert_eq!(store.restorable().unwrap().generation, Some(generation(8)));
    assert_eq!(store.next_number(), 11);
    store.append(&generation(11), FailPoints::default()).unwrap();
    drop(store);
    assert_eq!(restored(directory.path()), (11, String::new()));
}

#[test]
fn a_database_of_which_only_a_part_can_be_read() {
    const PAGE: u64 = 4096;
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("shardwright.db");
    applied(directory.path(), 10);
    let whole = fs::read(&database).unwrap();
    let file = File::options().write(true).open(&database).unwrap();
    // The page with the last rows.
    let page = last_place(&whole, generation(10).fingerprint.as_bytes()) / PAGE;
    file.write_all_at(&[0xff; PAGE as usize], page * PAGE).unwrap();
    let (served, told) = restored(directory.path());
    assert_eq!(served, 9);
    insta::assert_snapshot!(told, @"DIR/shardwright.db: the file is damaged behind generation 9, which is served; nothing more can be applied to it: start with an empty --data-dir and apply");
    let mut store = open(directory.path()).unwrap();
    store.restorable().unwrap();
    assert!(store.append(&generation(11), FailPoints::default()).is_err());
    drop(store);
    // Every page but the first, and the first.
    fs::write(
        &database,
        [&whole[..PAGE as usize], &[0xff; PAGE as usize * 20]].concat(),
    )
    .unwrap();
    insta::assert_snapshot!(refused(directory.path(), Meant::default()), @"DIR/shardwright.db: the file is damaged (database disk image is malformed); put back a copy of it, or start with an empty --data-dir and apply");
    fs::write(
        &database,
        "no database, and long enough to have a header, were it one".repeat(9),
    )
    .unwrap();
    insta::assert_snapshot!(refused(directory.path(), Meant::default()), @"DIR/shardwright.db: the file is damaged (file is not a database); put back a copy of it, or start with an empty --data-dir and apply");
    // All generations are there, and none is whole.
    let mut changed = whole.clone();
    while let Some(at) = changed.windows(4).position(|window| window == b"\"n\":") {
        changed[at + 1] = b'N';
    }
    fs::write(&database, changed).unwrap();
    insta::assert_snapshot!(refused(directory.path(), Meant::default()), @"DIR/shardwright.db: the file is damaged (no generation in it is whole, and 10 was applied); put back a copy of it, or start with an empty --data-dir and apply");
}

#[test]
fn a_record_that_is_damaged_is_told_and_written_anew() {
    let directory = tempfile::tempdir().unwrap();
    applied(directory.path(), 2);
    fs::write(directory.path().join("proxy.json"), "{").unwrap();
    let (served, told) = restored(directory.path());
    assert_eq!(served, 2);
    insta::assert_snapshot!(told, @"DIR/proxy.json: EOF while parsing an object at line 1 column 1; it is written anew");
    assert_eq!(restored(directory.path()), (2, String::new()));
}

#[test]
fn nobody_else_reads_its_files() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("data");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let files = || -> Vec<PathBuf> {
        let entries = fs::read_dir(&directory).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let mut store = open(&directory).unwrap();
    // The journal is there while a transaction is open.
    let transaction = store.connection.transaction().unwrap();
    transaction
        .execute("INSERT INTO generations VALUES (1, '', '', 0, NULL)", [])
        .unwrap();
    assert!(directory.join("shardwright.db-journal").exists());
    assert_eq!(mode(&directory), 0o700);
    for file in files() {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    drop(transaction);
    drop(store);
    applied(&directory, 1);
    // As earlier versions left it.
    for file in files() {
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    }
    drop(open(&directory).unwrap());
    assert!(files().len() >= 3, "{:?}", files());
    for file in files() {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}
