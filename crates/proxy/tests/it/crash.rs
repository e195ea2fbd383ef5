//! A proxy that is killed at every point of an apply: the old or the new generation, complete, after the restart.

use std::process::{Command, Stdio};
use std::sync::Arc;

use shardwright_testkit::eventually;

use crate::support::{
    ADMIN_PASSWORD, PATIENCE, Setup, apply_expecting, configuration, observe, start, start_on, value,
    write_secret,
};

const DIRECTORY: &str = "SHARDWRIGHT_TEST_DATA_DIRECTORY";
const ADDRESS_FILE: &str = "admin-address";

/// Not a test of its own: the process that dies. It runs a proxy when its parent, the test below, asks for one.
#[test]
fn child() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let any = "127.0.0.1:0".parse().unwrap();
    let directory = std::path::PathBuf::from(directory);
    let mut options = shardwright_proxy::Options::new(any, any, directory.join("data"));
    options.admin_password = Some(ADMIN_PASSWORD.to_owned().into());
    let running = shardwright_proxy::Proxy::start(options).unwrap();
    let address = running.admin_address().to_string();
    std::fs::write(directory.join("address.new"), address).unwrap();
    std::fs::rename(directory.join("address.new"), directory.join(ADDRESS_FILE)).unwrap();
    // The test that started this process ends it.
    loop {
        std::thread::park();
    }
}

#[test]
fn a_crash_anywhere_leaves_one_generation_whole() {
    let setup = Setup::default();
    for (point, may_be_old, may_be_new) in [
        ("received", true, false),
        ("validated", true, false),
        ("before_persist", true, false),
        ("in_transaction", true, false),
        ("persisted", false, true),
        ("published", false, true),
        ("answered", false, true),
    ] {
        let mut proxy = start(&setup);
        let old = observe(&mut proxy.admin());
        proxy.running.take().unwrap().shutdown();
        let mut new = configuration(&setup, &write_secret(&proxy.directory));
        new.users[0].max_connections = 7;
        let acknowledged = crash_at(point, &proxy.directory, &old, &new.to_json());
        assert_eq!(acknowledged, point == "answered", "{point}");
        let restarted = start_on(Arc::clone(&proxy.directory), &setup);
        let found = observe(&mut restarted.admin());
        let is_old = found == old;
        let is_new = found == (old.0 + 1, new.fingerprint(), new.to_json());
        assert!(
            (is_old && may_be_old) || (is_new && may_be_new),
            "{point}: {}",
            found.0
        );
        assert_eq!(value(&mut restarted.connect(None), "SELECT 1"), "1", "{point}");
    }
}

/// Applies in a process that dies at `point`; whether the apply was acknowledged.
fn crash_at(
    point: &str,
    directory: &Arc<tempfile::TempDir>,
    old: &(i64, String, String),
    json: &str,
) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--nocapture"])
        .env(DIRECTORY, directory.path())
        .env("SHARDWRIGHT_FAILPOINT", point)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let file = directory.path().join(ADDRESS_FILE);
    eventually(PATIENCE, || file.exists());
    let address = std::fs::read_to_string(&file).unwrap().parse().unwrap();
    let options = shardwright_testkit::ClientOptions {
        user: "admin",
        password: ADMIN_PASSWORD,
        schema: None,
    };
    let mut admin = shardwright_testkit::connect(address, options).unwrap();
    let acknowledged = apply_expecting(&mut admin, old.0, &old.1, json).is_ok();
    drop(admin);
    let status = child.wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9),
        "{point}: {status}"
    );
    std::fs::remove_file(file).unwrap();
    acknowledged
}
