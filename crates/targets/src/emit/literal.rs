//! Texts as SQLite and the `mysql` client both read them.

/// A literal of SQLite: quotes are doubled, a backslash is a character. The `mysql` client takes a backslash for the
/// start of an escape when it looks for the end of a statement, so an odd number of them before a quote would make it
/// miss that end; the last of such a run is written as `char(92)`.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::from("'");
    let mut backslashes = 0;
    for c in text.chars() {
        if c == '\'' {
            close_run(&mut out, backslashes);
            out.push('\'');
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        out.push(c);
    }
    close_run(&mut out, backslashes);
    out.push('\'');
    out
}

fn close_run(out: &mut String, backslashes: usize) {
    if backslashes % 2 == 1 {
        out.pop();
        out.push_str("'||char(92)||'");
    }
}

#[cfg(test)]
mod tests {
    use super::literal;

    #[test]
    fn literals() {
        let shown: Vec<String> = ["a", "don't", r"\d+", r"a\'b", r"ends in \", r"even \\", "", "'"]
            .iter()
            .map(|text| literal(text))
            .collect();
        insta::assert_snapshot!(shown.join("\n"), @r"
        'a'
        'don''t'
        '\d+'
        'a'||char(92)||'''b'
        'ends in '||char(92)||''
        'even \\'
        ''
        ''''
        ");
    }
}
