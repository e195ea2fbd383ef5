//! What is asked: the paths of Freno.

use percent_encoding::percent_decode_str;

/// What a path asks.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Question {
    /// `/check/APP/mysql/CLUSTER`, and its other forms.
    Check(Check),
    /// `/lb-check` and its other names: whether clients are served here. `/lb-check/CLUSTER` asks of one cluster.
    Ready(Option<String>),
    /// `/throttled-apps`: who is refused.
    RefusedApps,
    /// `/throttle-app/…`: a change.
    Change,
    /// Anything else.
    Unknown,
}

/// Whether an app may write to a cluster, or read from its replicas.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Check {
    pub(super) app: String,
    pub(super) store_type: String,
    pub(super) store: String,
    /// `-if-exists`: what nothing is known of is no reason to wait.
    pub(super) is_lenient: bool,
    /// For reads, the greatest lag that will do, in seconds.
    pub(super) read_within_s: Option<f64>,
}

impl Question {
    /// The question of a path, `%` escapes and all.
    pub(super) fn of(path: &str) -> Self {
        let decoded: Option<Vec<String>> = path
            .strip_prefix('/')
            .unwrap_or(path)
            .split('/')
            .map(|part| Some(percent_decode_str(part).decode_utf8().ok()?.into_owned()))
            .collect();
        let Some(parts) = decoded else {
            return Self::Unknown;
        };
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let check = |is_lenient, [app, store_type, store]: [&str; 3], read_within_s| {
            Self::Check(Check {
                app: app.to_owned(),
                store_type: store_type.to_owned(),
                store: store.to_owned(),
                is_lenient,
                read_within_s,
            })
        };
        match parts.as_slice() {
            ["lb-check" | "_ping" | "status" | "leader-check"] => Self::Ready(None),
            ["lb-check", cluster] => Self::Ready(Some((*cluster).to_owned())),
            ["throttled-apps"] => Self::RefusedApps,
            ["throttle-app" | "unthrottle-app", ..] => Self::Change,
            ["check", app, kind, store] => check(false, [app, kind, store], None),
            ["check-if-exists", app, kind, store] => check(true, [app, kind, store], None),
            [
                asked @ ("check-read" | "check-read-if-exists"),
                app,
                kind,
                store,
                threshold,
            ] => match threshold.parse::<f64>() {
                Ok(within_s) if within_s.is_finite() && within_s >= 0.0 => check(
                    *asked == "check-read-if-exists",
                    [app, kind, store],
                    Some(within_s),
                ),
                _ => Self::Unknown,
            },
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str) -> Check {
        match Question::of(path) {
            Question::Check(check) => check,
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn paths_are_questions() {
        let plain = check("/check/gh-ost/mysql/shop");
        assert_eq!(
            (
                plain.app.as_str(),
                plain.store_type.as_str(),
                plain.store.as_str()
            ),
            ("gh-ost", "mysql", "shop")
        );
        assert!(!plain.is_lenient && plain.read_within_s.is_none());
        assert!(check("/check-if-exists/a/mysql/b").is_lenient);
        assert_eq!(check("/check-read/a/mysql/b/0.5").read_within_s, Some(0.5));
        assert!(check("/check-read-if-exists/a/mysql/b/1").is_lenient);
        assert_eq!(check("/check/a%2Fb/mysql/sh%c3%b6p").app, "a/b");
        assert_eq!(Question::of("/lb-check"), Question::Ready(None));
        assert_eq!(
            Question::of("/lb-check/shop"),
            Question::Ready(Some("shop".to_owned()))
        );
        assert_eq!(Question::of("/throttled-apps"), Question::RefusedApps);
        assert_eq!(Question::of("/throttle-app/x/ttl/30"), Question::Change);
    }

    #[test]
    fn what_is_no_path_of_freno_is_unknown() {
        for path in [
            "",
            "/",
            "*",
            "/check",
            "/check/a/mysql",
            "/check/a/mysql/b/",
            "/check/%ff/mysql/b",
            "/check-read/a/mysql/b/NaN",
            "/check-read/a/mysql/b/-1",
            "/check-read/a/mysql/b/inf",
        ] {
            assert_eq!(Question::of(path), Question::Unknown, "{path}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_path_is_a_panic(path in "(/|check|check-read|mysql|%|[0-9a-f]|\\PC){0,12}") {
            let _question = Question::of(&path);
        }
    }
}
