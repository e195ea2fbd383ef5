//! Names with wildcards.

/// Whether a text is a glob and not a name.
#[must_use]
pub fn is_glob(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Whether `glob` matches the whole of `name`: `*` stands for any characters, `?` for one.
///
/// Takes time in the product of both lengths at most: only the last `*` is ever tried again. In `a*b*c` nothing that the
/// first `*` could take otherwise helps what stands behind the second one.
#[must_use]
pub fn glob_matches(glob: &str, name: &str) -> bool {
    if glob == name {
        return true;
    }
    let (mut glob_rest, mut name_rest) = (glob, name);
    // Behind the last `*`, and the rest of the name that it leaves; one character less each time it is tried again.
    let mut retry: Option<(&str, &str)> = None;
    while let Some(character) = name_rest.chars().next() {
        let wanted = glob_rest.chars().next();
        match wanted {
            Some('*') => {
                glob_rest = &glob_rest[1..];
                retry = Some((glob_rest, name_rest));
            }
            Some(wanted) if wanted == '?' || wanted == character => {
                glob_rest = &glob_rest[wanted.len_utf8()..];
                name_rest = &name_rest[character.len_utf8()..];
            }
            _ => {
                let Some((behind, left)) = retry else {
                    return false;
                };
                // `left` is as long as the name's rest or longer, which is not empty.
                let taken = left.chars().next().map_or(0, char::len_utf8);
                name_rest = &left[taken..];
                glob_rest = behind;
                retry = Some((behind, name_rest));
            }
        }
    }
    glob_rest.bytes().all(|byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_names() {
        for (glob, name, expected) in [
            ("shard-*", "shard-001", true),
            ("shard-*", "shard-", true),
            ("shard-*", "xshard-1", false),
            ("*-eu-*", "a-eu-b-eu-c", true),
            ("*", "", true),
            ("a?c", "abc", true),
            ("a?c", "aüc", true),
            ("a??c", "aüc", false),
            ("a?c", "ac", false),
            ("a?", "a😀", true),
            ("*ü?", "xüüü", true),
            ("*a*b", "xaxxbxb", true),
            ("*a*b", "xaxxbx", false),
            ("app", "app2", false),
            ("a", "ab", false),
            ("**a", "ba", true),
            ("", "", true),
        ] {
            assert_eq!(glob_matches(glob, name), expected, "{glob} on {name}");
        }
    }
}
