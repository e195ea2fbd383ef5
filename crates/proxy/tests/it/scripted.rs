//! Sessions between clients and servers that do anything: the fuzz target `sessions` with inputs of a generator.

use std::panic::{AssertUnwindSafe, catch_unwind};

use shardwright_testkit::{CaseReport, SessionCases};

const CASES: u64 = 300;
/// Of the servers' script; a quarter of the cases has honest servers, which need none.
const MOST_BYTES: u64 = 300;

/// xorshift64.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Runs a case, and tells its input if it fails.
fn run(cases: &SessionCases, input: &[u8]) -> CaseReport {
    let report = catch_unwind(AssertUnwindSafe(|| cases.run(input)));
    report.unwrap_or_else(|_| {
        let bytes: String = input.iter().map(|byte| format!("\\x{byte:02x}")).collect();
        panic!("the case fails: printf '{bytes}'");
    })
}

#[test]
fn whatever_servers_and_clients_do_nothing_is_mixed_up_or_left_behind() {
    let cases = SessionCases::new();
    let mut state = 0x9E37_79B9_7F4A_7C15;
    let (mut lies, mut tokens) = (0, 0);
    for number in 0..CASES {
        let of_clients = random(&mut state) as u8;
        let of_servers = match number % 4 {
            0 => 0,
            _ => random(&mut state) % MOST_BYTES,
        };
        let mut input = vec![random(&mut state) as u8, of_clients];
        let len = 2 * u64::from(of_clients) + of_servers;
        input.extend((0..len).map(|_| random(&mut state) as u8));
        let report = run(&cases, &input);
        lies += u64::from(report.has_lied);
        tokens += report.tokens;
    }
    assert!(lies > CASES / 2, "{lies} of {CASES} cases had a server that lied");
    assert!(tokens > CASES, "clients saw {tokens} tokens");
}

#[test]
fn without_a_script_every_client_is_served() {
    let mut input = vec![0, u8::MAX];
    input.resize(2 + 2 * usize::from(u8::MAX), 0);
    let report = run(&SessionCases::new(), &input);
    assert!(!report.has_lied);
    assert_eq!(report.answers, report.tokens);
    assert!(report.tokens > 100, "{report:?}");
}

/// An input: settings, the clients' script, the servers'.
fn input(of_clients: &[u8], of_servers: &[u8]) -> Vec<u8> {
    let length = u8::try_from(of_clients.len() / 2).unwrap();
    [&[0, length], of_clients, of_servers].concat()
}

/// Each of three clients logs in as the user with a map, and says BEGIN and INSERT with a key.
fn transactions() -> Vec<u8> {
    let (login, begin, insert) = ([0, 0x40, 0, 0], [2, 0], [40, 0]);
    [login.repeat(3), begin.repeat(3), insert.repeat(3)].concat()
}

#[test]
fn a_transaction_is_begun_again_where_its_connection_is_lost() {
    let cases = SessionCases::new();
    let report = run(&cases, &input(&transactions(), &[]));
    assert_eq!(
        (report.answers, report.tokens),
        (6, 3),
        "the script says something else"
    );
    // The server closes in place of one answer, or of a part of its login.
    for place in 0..60 {
        let mut of_servers = vec![0; place];
        of_servers.extend([u8::MAX, 0, 0, 0, 0, 0]);
        run(&cases, &input(&transactions(), &of_servers));
    }
}

#[test]
fn a_session_does_not_wait_for_one_silent_connection_after_the_other() {
    // One client logs in, two do not; then it says SELECT.
    let (login, no_login, select) = ([0, 0, 0, 0], [u8::MAX, 0, 0], [0, 0]);
    let of_clients = [&login[..], &no_login, &no_login, &select].concat();
    // The proxy asks for the version. Each connection logs in, and has nothing to say to its first command, a SET of the proxy's.
    let (greeting, login, silence) = ([0, 0], [0, 0, 0, 0], [u8::MAX, 0, 0, 0, 0, 11, 2]);
    let connection = [&login[..], &silence].concat();
    let of_servers = [&greeting[..], &connection.repeat(20)].concat();
    let report = run(&SessionCases::new(), &input(&of_clients, &of_servers));
    assert!(report.has_lied);
    assert_eq!(
        (report.answers, report.tokens),
        (1, 0),
        "the error in place of an answer"
    );
}

#[test]
fn what_a_server_says_behind_a_login_is_no_answer() {
    // One client logs in, without IGNORE_SPACE, so that its statement is the first command of a connection; two do not.
    let (login, no_login, select) = ([0, 4, 0, 0], [u8::MAX, 0, 0], [0, 0]);
    let of_clients = [&login[..], &no_login, &no_login, &select, &select].concat();
    // Behind each OK of a login, in the same write, an OK that nobody has asked for.
    let (greeting, accepted, more) = (
        [0, 0],
        [0, 0, 0],
        [244, 0, 0, 0, 0, 10, 7, 0, 0, 0, 2, 0, 0, 0, 2],
    );
    let connection = [&accepted[..], &more].concat();
    let of_servers = [&greeting[..], &connection.repeat(20)].concat();
    let report = run(&SessionCases::new(), &input(&of_clients, &of_servers));
    assert!(report.has_lied);
    assert_eq!((report.answers, report.errors), (2, 2), "no connection, twice");
}
