//! "Did you mean": the candidate nearest to a misspelt word.

/// Words longer than this, in bytes, are not typing mistakes, and comparing them would cost time.
const LONGEST_WORD: usize = 64;

/// The candidate nearest to `word` by edit distance (a swap of neighbours is one edit, letters compare without
/// ASCII case), if it is near: one edit for up to five characters, a third of the characters beyond. The first
/// of equally near candidates wins, so that the answer follows the order of the candidates only.
#[must_use]
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.is_empty() || word.len() > LONGEST_WORD {
        return None;
    }
    let wanted = word.to_ascii_lowercase();
    let limit = (wanted.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(wanted.len()) <= 4 * limit)
        .map(|candidate| {
            (
                strsim::osa_distance(&wanted, &candidate.to_ascii_lowercase()),
                candidate,
            )
        })
        .filter(|(distance, candidate)| *distance <= limit && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_candidate_is_offered() {
        let keys = ["cluster", "schema", "password", "max_connections", "on"];
        for (word, expected) in [
            ("clsuter", Some("cluster")),
            ("CLUSTER", Some("cluster")),
            ("clusters", Some("cluster")),
            ("pasword", Some("password")),
            ("maxconnections", Some("max_connections")),
            ("max-connections", Some("max_connections")),
            ("hostgroup", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(did_you_mean(word, keys), expected, "{word}");
        }
        assert_eq!(did_you_mean(&"a".repeat(1_000_000), keys), None);
    }
}
