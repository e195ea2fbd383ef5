//! Every kind of store keeps the same promises.

mod kit;

use shardwright_testkit::{Cable, Etcd, EtcdOptions, Faulty, MariaDb, Options, eventually};

use self::kit::{HASH, KINDS, Kind, PATIENCE, SHARED, ended, kit, mixed_up, record};
use super::*;

#[test]
fn what_was_begun_and_noted_is_read_again_by_others() {
    for kind in KINDS {
        let mine = kit().journal(kind, "reading", "a@one", None);
        assert!(mine.history().unwrap().is_empty(), "{kind:?}");
        assert!(
            matches!(mine.run("run-1"), Err(JournalError::NoRun(_))),
            "{kind:?}"
        );
        let lock = mine.lock().unwrap();
        let mut run = mine.begin(record("run-1", 0)).unwrap();
        run.note(Phase::Saving).unwrap();
        let theirs = kit().journal(kind, "reading", "b@two", None);
        let found = theirs.run("run-1").unwrap();
        assert_eq!(found.phases, [Phase::Saving], "{kind:?}");
        assert!(found.is_open() && found.was_saving(), "{kind:?}");
        let rows = found.record.changes();
        assert_eq!(rows.len(), 1, "{kind:?}");
        let row = rows[0].new.as_ref().unwrap();
        assert_eq!(row.secret.as_ref().unwrap().expose(), HASH, "{kind:?}");
        assert_eq!(found.record.generation, 5, "{kind:?}");
        let open = theirs.open_run("px").unwrap().unwrap();
        assert_eq!(open.head.identity.run, "run-1", "{kind:?}");
        assert!(theirs.open_run("another").unwrap().is_none(), "{kind:?}");
        run.note(ended(End::Applied)).unwrap();
        drop(lock);
        assert!(theirs.open_run("px").unwrap().is_none(), "{kind:?}");
        // What another project keeps there is not ours.
        let others = kit().journal(kind, "read", "c@three", None);
        assert!(others.history().unwrap().is_empty(), "{kind:?}");
        let _lock = theirs.lock().unwrap();
        theirs.begin(record("run-2", 0)).unwrap();
        let names: Vec<String> = mine
            .runs()
            .unwrap()
            .into_iter()
            .map(|run| run.record.identity.run.clone())
            .collect();
        assert_eq!(names, ["run-1", "run-2"], "{kind:?}");
    }
}

#[test]
fn a_run_of_many_rows_is_whole_in_every_store() {
    for kind in KINDS {
        let journal = kit().journal(kind, "many", "a@one", None);
        let _lock = journal.lock().unwrap();
        // As much as 10,000 rules, and 20 MB once it is packed.
        journal.begin(record("run-1", 60_000)).unwrap();
        let rows = journal.run("run-1").unwrap().record.changes();
        assert_eq!(rows.len(), 60_001, "{kind:?}");
        let last = rows.last().unwrap().new.as_ref().unwrap();
        assert_eq!(
            last.text("variable_value"),
            format!("{:x}", mixed_up(60_000)),
            "{kind:?}"
        );
    }
}

#[test]
fn whether_a_run_is_open_is_asked_in_few_questions_after_many_runs() {
    let journal = kit().journal(Kind::Etcd, "history", "a@one", None);
    let lock = journal.lock().unwrap();
    for number in 0..50 {
        let mut run = journal.begin(record(&format!("run-{number:02}"), 0)).unwrap();
        for _ in 0..6 {
            run.note(Phase::Saving).unwrap();
        }
        run.note(ended(End::Applied)).unwrap();
    }
    drop(lock);
    let network = Faulty::http(kit().etcd.address(), usize::MAX, None, false);
    let theirs = kit().journal(Kind::Etcd, "history", "b@two", Some(network.address.port()));
    assert!(theirs.open_run("px").unwrap().is_none());
    let history = theirs.history().unwrap();
    assert_eq!(history.len(), 50);
    assert!(history.iter().all(|run| run.phases.len() == 7));
    // The version, and for each answer two pages of runs and three of their 350 notes.
    assert_eq!(network.statements().len(), 11, "{:?}", network.statements());
}

#[test]
fn only_so_many_runs_of_a_target_are_kept_and_those_that_are_needed_in_any_case() {
    for kind in KINDS {
        let journal = kit().journal(kind, "keeping", "a@one", None).keeping(3);
        let lock = journal.lock().unwrap();
        let of = |name: &str, target: &str| {
            let mut record = record(name, 0);
            record.head.target = target.to_owned();
            journal.begin(record).unwrap()
        };
        of("run-0", "other").note(ended(End::Applied)).unwrap();
        let open = of("run-1", "px");
        for (number, end) in (2..=7).zip([
            End::Applied,
            End::Applied,
            End::Refused,
            End::Restored,
            End::Refused,
            End::Restored,
        ]) {
            of(&format!("run-{number}"), "px").note(ended(end)).unwrap();
        }
        drop(lock);
        let names = || -> Vec<String> {
            let history = journal.history().unwrap().into_iter();
            history.map(|run| run.head.identity.run).collect()
        };
        // The newest three; one that has not ended, and one that left what is there now. The other target is not concerned.
        assert_eq!(
            names(),
            ["run-0", "run-1", "run-3", "run-5", "run-6", "run-7"],
            "{kind:?}"
        );
        assert!(
            matches!(journal.run("run-2"), Err(JournalError::NoRun(_))),
            "{kind:?}"
        );
        assert_eq!(
            journal.run("run-3").unwrap().record.changes().len(),
            1,
            "{kind:?}"
        );
        assert!(open.is_open());
        let last = journal.last_applied("px").unwrap().unwrap();
        assert_eq!(last.head.identity.run, "run-3", "{kind:?}");
    }
}

#[test]
fn one_works_at_a_time_and_others_are_told_who() {
    for kind in KINDS {
        let (mine, theirs) = (
            kit().journal(kind, "locking", "a@one", None),
            kit().journal(kind, "locking", "b@two", None),
        );
        assert_eq!(theirs.holder().unwrap(), None, "{kind:?}");
        let lock = mine.lock().unwrap();
        let refused = theirs.lock().unwrap_err();
        assert!(matches!(refused, JournalError::Locked { .. }), "{kind:?}");
        assert!(
            refused.to_string().contains("locked by a@one since 2026"),
            "{refused}"
        );
        let holder = theirs.holder().unwrap().unwrap();
        assert_eq!(holder.owner.by, "a@one", "{kind:?}");
        let left = holder.expires_in.map(|left| left.as_secs());
        assert_eq!(left.is_some(), kind != Kind::Directory, "{kind:?}");
        assert!(
            left.is_none_or(|left| (50..=60).contains(&left)),
            "{kind:?}: {left:?}"
        );
        // Other projects are not concerned.
        drop(kit().journal(kind, "lock", "b@two", None).lock().unwrap());
        drop(lock);
        assert_eq!(theirs.holder().unwrap(), None, "{kind:?}");
        drop(theirs.lock().unwrap());
    }
}

#[test]
fn whose_lock_was_broken_writes_nothing_more() {
    for kind in SHARED {
        let mine = kit().journal(kind, "breaking", "a@one", None);
        let theirs = kit().journal(kind, "breaking", "b@two", None);
        let _lock = mine.lock().unwrap();
        let mut run = mine.begin(record("run-1", 0)).unwrap();
        run.note(Phase::Saving).unwrap();
        let holder = theirs.holder().unwrap().unwrap();
        assert!(theirs.break_lock(&holder).unwrap(), "{kind:?}");
        // Once is enough, and nobody else's lock goes with it.
        assert!(!theirs.break_lock(&holder).unwrap(), "{kind:?}");
        let _their_lock = theirs.lock().unwrap();
        assert!(!theirs.break_lock(&holder).unwrap(), "{kind:?}");
        for phase in [
            Phase::Verified,
            Phase::Restoring {
                reason: String::new(),
            },
            ended(End::Restored),
        ] {
            let error = run.note(phase).unwrap_err();
            assert!(
                matches!(error, JournalError::LockLost { .. }),
                "{kind:?}: {error}"
            );
            assert!(error.to_string().contains("b@two"), "{kind:?}: {error}");
        }
        assert!(mine.begin(record("run-2", 0)).is_err(), "{kind:?}");
        assert_eq!(theirs.history().unwrap().len(), 1, "{kind:?}");
        let mut taken = theirs.run("run-1").unwrap();
        assert_eq!(taken.phases, [Phase::Saving], "{kind:?}");
        taken.note(ended(End::Restored)).unwrap();
        assert_eq!(mine.run("run-1").unwrap().phases.len(), 2, "{kind:?}");
    }
}

#[test]
fn the_lock_of_a_process_of_this_machine_cannot_be_broken_and_goes_with_it() {
    let journal = kit().journal(Kind::Directory, "process", "a@one", None);
    let lock = journal.lock().unwrap();
    let holder = journal.holder().unwrap().unwrap();
    let error = journal.break_lock(&holder).unwrap_err().to_string();
    assert!(
        error.contains(&format!("process {}", std::process::id())),
        "{error}"
    );
    drop(lock);
    assert!(!journal.break_lock(&holder).unwrap());
}

#[test]
fn the_lock_of_a_machine_that_was_cut_off_ends_and_it_writes_nothing_more() {
    let period = Duration::from_secs(4);
    for kind in SHARED {
        let project = "cut";
        let theirs = kit().sealed(kind, project, "b@two", None, "key", period);
        let way = Cable::to(match kind {
            Kind::MySql => kit().mariadb.address(),
            _ => kit().etcd.address(),
        });
        let mine = kit().sealed(kind, project, "a@one", Some(way.address.port()), "key", period);
        let lock = mine.lock().unwrap();
        let mut run = mine.begin(record("run-1", 0)).unwrap();
        run.note(Phase::Saving).unwrap();
        way.cut();
        let mut their_lock = None;
        eventually(PATIENCE, || match theirs.lock() {
            Ok(lock) => {
                their_lock = Some(lock);
                true
            }
            Err(JournalError::Locked { holder, .. }) => {
                assert_eq!(holder.owner.by, "a@one", "{kind:?}");
                false
            }
            Err(error) => panic!("{kind:?}: {error}"),
        });
        // By its own clock the lock was over before anybody could have it.
        let error = run
            .note(Phase::Restoring {
                reason: String::new(),
            })
            .unwrap_err();
        assert!(matches!(error, JournalError::Store { .. }), "{kind:?}: {error}");
        way.mend();
        let error = run.note(ended(End::Restored)).unwrap_err();
        assert!(
            matches!(error, JournalError::LockLost { .. }),
            "{kind:?}: {error}"
        );
        drop(lock);
        let still = theirs.holder().unwrap().unwrap();
        assert_eq!(still.owner.by, "b@two", "{kind:?}: {still}");
        theirs.run("run-1").unwrap().note(ended(End::Restored)).unwrap();
    }
}

#[test]
fn a_lock_that_is_held_for_longer_than_its_period_stays() {
    let period = Duration::from_secs(4);
    for kind in SHARED {
        let mine = kit().sealed(kind, "long", "a@one", None, "key", period);
        let theirs = kit().sealed(kind, "long", "b@two", None, "key", period);
        let lock = mine.lock().unwrap();
        let begun = std::time::Instant::now();
        eventually(PATIENCE, || {
            let error = theirs.lock().unwrap_err();
            assert!(matches!(error, JournalError::Locked { .. }), "{kind:?}: {error}");
            begun.elapsed() > 2 * period
        });
        mine.begin(record("run-1", 0)).unwrap();
        drop(lock);
        drop(theirs.lock().unwrap());
    }
}

#[test]
fn rows_are_sealed_and_without_their_key_a_history_is_all_that_is_read() {
    for kind in SHARED {
        let mine = kit().journal(kind, "sealing", "a@one", None);
        let _lock = mine.lock().unwrap();
        mine.begin(record("run-1", 3)).unwrap();
        let other = kit().sealed(kind, "sealing", "b@two", None, "another", LOCK_PERIOD);
        assert_eq!(other.history().unwrap().len(), 1, "{kind:?}");
        let error = other.run("run-1").unwrap_err().to_string();
        assert!(error.contains("sealed with the key"), "{kind:?}: {error}");
        let absent = kit().sealed(kind, "sealing", "b@two", None, "absent", LOCK_PERIOD);
        assert_eq!(absent.history().unwrap().len(), 1, "{kind:?}");
        let error = absent.run("run-1").unwrap_err().to_string();
        assert!(
            error.contains("the file absent cannot be read"),
            "{kind:?}: {error}"
        );
    }
    let rows = kit()
        .mariadb
        .run("SELECT HEX(name), HEX(value) FROM state.shardwright_values")
        .unwrap();
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02X}")).collect::<String>();
    let all = format!("{rows:?}");
    assert!(all.contains(&hex("me@here")), "nothing is stored");
    assert!(!all.contains(&hex(&HASH[..12])), "a password is stored");
    let stored = kit().etcd.stored().unwrap();
    let has = |text: &str| stored.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has("me@here"), "nothing is stored");
    assert!(!has(&HASH[..12]), "a password is stored");
}

#[test]
fn nothing_prints_a_password_or_a_key() {
    for kind in SHARED {
        let journal = kit().journal(kind, "printing", "a@one", None);
        let _lock = journal.lock().unwrap();
        let run = journal.begin(record("run-1", 0)).unwrap();
        let printed = format!("{journal:?}");
        assert!(printed.contains("a@one"), "{kind:?}: {printed}");
        assert!(
            !printed.contains("\"pass\"") && !printed.contains("keykey"),
            "{kind:?}: {printed}"
        );
        let head = &run.record.head;
        assert!(!format!("{head:?}").contains(HASH), "{kind:?}");
    }
}

#[test]
fn a_server_that_may_forget_is_refused() {
    let options = Options::default().arg("--innodb-flush-log-at-trx-commit=2");
    let forgetful = MariaDb::start(options).unwrap();
    forgetful.run("CREATE DATABASE state").unwrap();
    forgetful
        .create_user("swstate", "pass", Some("ALL ON state.*"))
        .unwrap();
    let journal = kit().journal(Kind::MySql, "forgetful", "a@one", Some(forgetful.port()));
    let error = journal.lock().unwrap_err().to_string();
    assert!(error.contains("innodb_flush_log_at_trx_commit is 2"), "{error}");
}

#[test]
fn what_a_newer_program_has_stored_is_refused_with_a_sentence() {
    for kind in KINDS {
        let journal = kit().journal(kind, "newer", "a@one", None);
        {
            let _lock = journal.lock().unwrap();
            let mut newer = record("run-1", 0);
            newer.version = record::VERSION + 1;
            journal.store.begin(&newer).unwrap();
        }
        for error in [
            journal.history().err().unwrap(),
            journal.run("run-1").err().unwrap(),
        ] {
            let error = error.to_string();
            assert!(
                error.contains("has version 2, this program reads 1"),
                "{kind:?}: {error}"
            );
        }
    }
    let newer = MariaDb::start(Options::default().arg("--innodb-flush-log-at-trx-commit=1")).unwrap();
    newer
        .run(
            "CREATE DATABASE state; CREATE TABLE state.shardwright_version (only_row INT, version INT); \
              INSERT INTO state.shardwright_version VALUES (1, 2)",
        )
        .unwrap();
    newer
        .create_user("swstate", "pass", Some("ALL ON state.*"))
        .unwrap();
    let journal = kit().journal(Kind::MySql, "newer", "a@one", Some(newer.port()));
    let error = journal.history().unwrap_err().to_string();
    assert!(
        error.contains("its tables have version 2, this program reads 1"),
        "{error}"
    );
    let newer = Etcd::start(EtcdOptions::default()).unwrap();
    // shardwright/version: 2
    let put = r#"{"key": "c2hhcmR3cmlnaHQvdmVyc2lvbg==", "value": "Mg=="}"#;
    newer.ask("/v3/kv/put", put, None).unwrap();
    let journal = kit().journal(Kind::Etcd, "newer", "a@one", Some(newer.address().port()));
    let error = journal.history().unwrap_err().to_string();
    assert!(
        error.contains("its keys have version 2, this program reads 1"),
        "{error}"
    );
}

#[test]
fn a_line_that_was_cut_off_says_nothing_and_the_next_one_is_whole() {
    let journal = kit().journal(Kind::Directory, "cut-line", "a@one", None);
    let _lock = journal.lock().unwrap();
    journal
        .begin(record("run-1", 0))
        .unwrap()
        .note(Phase::Verified)
        .unwrap();
    let lines = kit().directory.path().join("cut-line/runs/run-1/journal.jsonl");
    let mut text = std::fs::read_to_string(&lines).unwrap();
    text.push_str(r#"{"phase":"sav"#);
    std::fs::write(&lines, &text).unwrap();
    let mut run = journal.run("run-1").unwrap();
    assert_eq!(run.phases, [Phase::Verified]);
    run.note(ended(End::Restored)).unwrap();
    assert_eq!(
        journal.run("run-1").unwrap().phases,
        [Phase::Verified, ended(End::Restored)]
    );
    // A line that is whole and says something else was written by a newer program.
    std::fs::write(&lines, "{\"phase\":\"pondering\"}\n").unwrap();
    let error = journal.run("run-1").unwrap_err().to_string();
    assert!(error.contains("line 1") && error.contains("pondering"), "{error}");
}
