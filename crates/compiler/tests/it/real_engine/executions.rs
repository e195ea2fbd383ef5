//! Prepared statements under changing rules and schemas, two threads in the engine: what may run runs where it belongs,
//! what is refused gets its reason, and the engine goes on.
//!
//! Left out by name, because 2.7.1 does not outlive it (`docs/engines.md`, `docs/conformance.md`): an EXECUTE in another
//! schema than its PREPARE, one that a written rule's `error_msg` meets (SW243), one of a session that is locked on a
//! hostgroup (SW244). Left out too: what the engine answers itself, and annotations, which may name a hostgroup without a
//! server.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use shardwright_rules::{MapStep, Outcome, REFUSED_LOGIN, SentAs};
use shardwright_testkit::{EngineClient, Handle, Reply, real_proxysql};
use shardwright_topology::model::{EngineFamily, EngineVariables, Project, Refuser};

use super::keys::{KEYLESS, keyed, keys_of};
use super::loaded::Loaded;
use super::{HOSTILE, compiled_maps, wanted};
use crate::examples::{example, names};
use crate::support::*;

/// Clients that hold prepared statements at the same time.
const CLIENTS: usize = 4;
/// Statements that each of them prepares in a schema.
const STATEMENTS: usize = 24;

#[test]
fn the_engine_outlives_what_it_refuses_to_run() {
    let Some(binary) = real_proxysql("prepared statements under changing rules") else {
        return;
    };
    let examples = names();
    let projects = examples.iter().map(|name| (name.as_str(), example(name)));
    let projects: Vec<(&str, Project)> = projects.chain([("hostile", loaded(HOSTILE))]).collect();
    let each = wanted().div_ceil(projects.len());
    let mut all = Count::default();
    for (name, project) in projects {
        let project = with_refuser(project);
        let mut rounds = Rounds {
            program: compiled_maps(&project),
            loaded: Loaded::start(&binary, &project, 2),
        };
        rounds.loaded.be_patient();
        let mut of_project = Count::default();
        for round in 0.. {
            if of_project.executed >= each {
                break;
            }
            let before = of_project.executed;
            of_project.add(&rounds.run(round));
            assert!(of_project.executed > before, "{name}: nothing was executed");
            let ended = rounds.loaded.rig.proxysql_mut().ended().unwrap();
            let log = rounds.loaded.rig.proxysql().log().unwrap();
            assert!(
                ended.is_none() && !log.contains("signal 11"),
                "{name}, round {round}: {log}"
            );
        }
        println!("{name}: {of_project:?}");
        all.add(&of_project);
    }
    println!("all: {all:?}");
    assert!(all.executed >= wanted(), "{all:?}");
    assert!(all.refused * 20 > all.executed, "{all:?}");
}

/// The project with `shardwright refuse`, whose port the test chooses later.
fn with_refuser(mut project: Project) -> Project {
    let refuser = Refuser::Service {
        host: "127.0.0.1".into(),
        port: 6100,
    };
    let settings = &mut project.topology.engine_settings;
    match settings
        .iter_mut()
        .find(|one| one.family == EngineFamily::ProxySql)
    {
        Some(own) => own.refuser = refuser,
        None => {
            let origin = project.topology.users.iter().next().expect("a user").origin;
            settings.push(EngineVariables {
                family: EngineFamily::ProxySql,
                origin,
                values: Vec::new(),
                refuser,
            });
        }
    }
    project
}

#[derive(Debug, Default)]
struct Count {
    executed: usize,
    refused: usize,
    /// Executed while rules were loaded; not among the others.
    while_loading: usize,
}

impl Count {
    fn add(&mut self, other: &Self) {
        self.executed += other.executed;
        self.refused += other.refused;
        self.while_loading += other.while_loading;
    }
}

/// The rounds of one project.
struct Rounds {
    loaded: Loaded,
    program: Vec<MapStep>,
}

/// What rules make of every text while the project's are not loaded.
#[derive(Clone, Copy)]
enum Before {
    /// Nothing: there are none.
    Nothing,
    /// They put this in front of it.
    Prefix(&'static str),
}

impl Before {
    fn rewritten(self, sql: &str) -> String {
        match self {
            Self::Nothing => sql.to_owned(),
            Self::Prefix(prefix) => format!("{prefix}{sql}"),
        }
    }
}

/// A client, and what it prepares in two schemas.
struct Job {
    user: String,
    schemas: [Option<String>; 2],
    texts: Vec<String>,
}

/// A prepared statement with the text that the engine keeps of it.
struct Prepared {
    handle: Handle,
    text: String,
}

impl Rounds {
    fn run(&self, round: usize) -> Count {
        let before = match round % 2 {
            0 => Before::Nothing,
            _ => Before::Prefix("/* old */ "),
        };
        self.load_others(before);
        let jobs = self.jobs(round);
        let mut clients: Vec<EngineClient> = jobs
            .iter()
            .map(|job| self.loaded.client(&job.user, job.schemas[0].as_deref()))
            .collect();
        let prepared = jobs.iter().zip(&mut clients).map(|(job, client)| {
            let texts = job.texts.iter();
            let prepared = texts.map(|sql| Prepared {
                handle: client.prepare(sql).unwrap(),
                text: before.rewritten(sql),
            });
            prepared.collect()
        });
        let prepared: Vec<Vec<Prepared>> = prepared.collect();
        let mut count = self.load_under_load(&jobs[0], before);
        let counts: Vec<Count> = std::thread::scope(|scope| {
            let threads: Vec<_> = jobs
                .iter()
                .zip(&mut clients)
                .zip(&prepared)
                .map(|((job, client), prepared)| scope.spawn(move || self.execute(job, client, prepared)))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for more in &counts {
            count.add(more);
        }
        drop(self.loaded.rig.servers().take_arrivals());
        count
    }

    /// Users, and rules that know nothing of the project's.
    fn load_others(&self, before: Before) {
        let configuration = &self.loaded.compiled.configuration;
        let users = configuration.users.iter().map(|user| {
            format!(
                "INSERT INTO mysql_users (username, default_hostgroup) VALUES ('{}', {})",
                user.name, user.default_hostgroup
            )
        });
        let rule = match before {
            Before::Nothing => None,
            Before::Prefix(prefix) => Some(format!(
                "INSERT INTO mysql_query_rules (rule_id, active, match_pattern, replace_pattern, apply) \
                 VALUES (1, 1, '\\A', '{prefix}', 1)"
            )),
        };
        self.loaded
            .rig
            .load(&users.chain(rule).collect::<Vec<_>>())
            .unwrap();
    }

    /// Loads the project's rules while a client executes what it has prepared: by the old rules or by the new.
    fn load_under_load(&self, job: &Job, before: Before) -> Count {
        let schema = job.schemas[0].as_deref();
        let mut client = self.loaded.client(&job.user, schema);
        let sql = &job.texts[0];
        let prepared = Prepared {
            handle: client.prepare(sql).unwrap(),
            text: before.rewritten(sql),
        };
        let configuration = &self.loaded.compiled.configuration;
        let old = configuration.user(&job.user).unwrap().default_hostgroup.0;
        let is_loaded = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let executing = scope.spawn(|| {
                let mut while_loading = 0;
                loop {
                    let is_last = is_loaded.load(Ordering::Acquire);
                    let reply = client.execute(&prepared.handle);
                    if reply.hostgroup() != Some(old) {
                        self.compare(job, schema, &prepared.text, &reply, &mut Count::default());
                    }
                    while_loading += 1;
                    if is_last {
                        break Count {
                            while_loading,
                            ..Count::default()
                        };
                    }
                }
            });
            self.loaded.load();
            is_loaded.store(true, Ordering::Release);
            executing.join().unwrap()
        })
    }

    /// One client under the project's rules: executes, changes its schema, prepares again, executes, and goes back.
    fn execute(&self, job: &Job, client: &mut EngineClient, prepared: &[Prepared]) -> Count {
        let mut count = Count::default();
        let [first, second] = job.schemas.each_ref().map(Option::as_deref);
        for one in prepared {
            let reply = client.execute(&one.handle);
            self.compare(job, first, &one.text, &reply, &mut count);
        }
        if let Some(schema) = second {
            assert_eq!(client.init_db(schema), Reply::Ok(String::new()));
            for sql in &job.texts {
                self.prepare_and_execute(job, client, second, sql, &mut count);
            }
            if let Some(schema) = first {
                assert_eq!(client.init_db(schema), Reply::Ok(String::new()));
                for one in prepared.iter().rev() {
                    let reply = client.execute(&one.handle);
                    self.compare(job, first, &one.text, &reply, &mut count);
                }
            }
        }
        // It is served after that, and so is everybody else.
        let mut other = self.loaded.client(&job.user, first);
        let now = if first.is_some() { first } else { second };
        for (client, schema) in [(client, now), (&mut other, first)] {
            for sql in ["SELECT name FROM orders WHERE id=5", "UPDATE t SET a=1"] {
                self.loaded.check(client, (&job.user, schema), sql);
            }
        }
        count
    }

    fn prepare_and_execute(
        &self,
        job: &Job,
        client: &mut EngineClient,
        schema: Option<&str>,
        sql: &str,
        count: &mut Count,
    ) {
        let expected = self.loaded.expected(&job.user, schema, sql, SentAs::Prepare);
        match (client.prepare(sql), &expected) {
            (Ok(handle), Outcome::Route(route)) => {
                let kept = route.rewritten.as_deref().unwrap_or(sql.as_bytes());
                let text = String::from_utf8(kept.to_vec()).unwrap();
                if self.is_named_gap(&job.user, schema, &text) {
                    return;
                }
                for _ in 0..2 {
                    let reply = client.execute(&handle);
                    self.compare(job, schema, &text, &reply, count);
                }
            }
            (Err(Reply::Error(1148, message)), Outcome::Reject(rejection)) => {
                assert_eq!(message, rejection.message, "{sql}");
            }
            (reply, _) => panic!(
                "{} in {schema:?}: PREPARE {sql:?}: {reply:?}, expected {expected:?}",
                job.user
            ),
        }
    }

    fn compare(&self, job: &Job, schema: Option<&str>, text: &str, reply: &Reply, count: &mut Count) {
        count.executed += 1;
        let expected = self.loaded.expected(&job.user, schema, text, SentAs::Execute);
        let what = || {
            format!(
                "{} in {schema:?}: EXECUTE {text:?}: {reply:?}, expected {expected:?}",
                job.user
            )
        };
        match (reply, &expected) {
            (Reply::Error(1226, message), Outcome::Reject(rejection)) => {
                count.refused += 1;
                assert_eq!(
                    *message,
                    format!("{REFUSED_LOGIN}{}", rejection.message),
                    "{}",
                    what()
                );
            }
            (reply, Outcome::Route(route)) => {
                assert_eq!(reply.hostgroup(), Some(route.hostgroup.0), "{}", what());
            }
            _ => panic!("{}", what()),
        }
    }

    fn is_named_gap(&self, user: &str, schema: Option<&str>, text: &str) -> bool {
        match self.loaded.expected(user, schema, text, SentAs::Execute) {
            Outcome::Reject(rejection) => rejection.code != 1226,
            Outcome::Route(_) => false,
            Outcome::Own { .. } | Outcome::Answer { .. } | Outcome::DeferBegin => true,
        }
    }

    /// Other users, keys and schemas in each round.
    fn jobs(&self, round: usize) -> Vec<Job> {
        let configuration = &self.loaded.compiled.configuration;
        let mut texts: Vec<(Option<String>, String)> = KEYLESS
            .iter()
            .chain(&["SELECT a FROM t WHERE b=?", "UPDATE t SET a=? WHERE b=?"])
            .map(|sql| (None, (*sql).to_owned()))
            .collect();
        for map in &self.program {
            for key in keys_of(map) {
                texts.extend(keyed(map, &key));
            }
        }
        texts.retain(|(_, sql)| !sql.contains("hostgroup="));
        let of_keys: BTreeSet<&String> = texts.iter().filter_map(|(schema, _)| schema.as_ref()).collect();
        let of_keys: Vec<&String> = of_keys.into_iter().collect();
        let jobs = (0..CLIENTS).map(|number| {
            let at = round * CLIENTS + number;
            let user = &configuration.users[at % configuration.users.len()];
            let home = user.default_schema.clone().filter(|schema| !schema.is_empty());
            let of_key = |at: usize| {
                of_keys
                    .get(at % of_keys.len().max(1))
                    .map(|schema| (*schema).clone())
            };
            let schemas = match number % 2 {
                0 => [home, of_key(at).or_else(|| Some("elsewhere".to_owned()))],
                _ => [
                    of_key(at).or_else(|| Some("elsewhere".to_owned())),
                    of_key(at + 1).or(home),
                ],
            };
            let allowed = |sql: &String| {
                let befores = ["", "/* old */ "];
                schemas.iter().all(|schema| {
                    let gap = |before: &&str| {
                        let text = format!("{before}{sql}");
                        self.is_named_gap(&user.name, schema.as_deref(), &text)
                    };
                    !befores.iter().any(gap)
                })
            };
            let all = texts.iter().cycle().skip(at * STATEMENTS % texts.len());
            let own = all
                .map(|(_, sql)| sql)
                .take(texts.len())
                .filter(|sql| allowed(sql));
            Job {
                user: user.name.clone(),
                texts: own.take(STATEMENTS).cloned().collect(),
                schemas,
            }
        });
        jobs.collect()
    }
}
