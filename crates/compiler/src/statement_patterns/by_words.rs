//! Statements by their words, as PCRE reads them fastest.
//!
//! PCRE calls itself for each turn of a group and for each branch that it tries, about 10 ns each. So a turn of the one
//! loop reads a whole word and all signs behind it, and branches stand in the order of their frequency: words that differ
//! from every special one in their first letter, then in their second, then numbers and literals, then trees of letters.
//!
//! The language is that of the token by token form; a test compares them for many forms. Every word ends with `\b`:
//! else a word could be read as two.
//!
//! `SELECT a, find FROM t`, without the words `FOR` and `INTO`: the verb and a blank; `a` and `, ` (it begins like
//! neither); `find ` and `FROM ` (`FI` and `FR` begin no special word); `t`.

use super::{
    BLANK, Calls, DIGIT, Form, Variables, WordRole, Wording, all_but, any_of, behind_letter, letters_at,
};

/// Branches for words.
struct Words {
    /// Words that differ from special ones in their first two letters.
    plain: String,
    /// The others, by their first letter.
    trees: String,
}

impl Wording {
    /// What [`Wording::statement`] describes.
    pub(super) fn statement_by_words(self, form: &Form<'_>) -> String {
        let more = self.more();
        let special = form.special_words();
        let sign = format!(r"[\t-\r {}]", form.signs());
        let signs = format!("{sign}*{more}");
        let words = self.words_and_signs(&special, &signs);
        let number = format!(r"0(?:X[0-9A-F]+{more}|[0-9]*{more})\b");
        let (line, comment, literal) = (self.line_comment(), self.comment(), self.literals().join("|"));
        let system = if form.variables == Variables::OfSystem {
            "|@@"
        } else {
            ""
        };
        let other = format!(r"{literal}|#[^\n]*{more}(?:\n|\z){system}");
        // Directly behind an operator the pattern of words does not stand again, for its size: a word that no special one begins
        // like, or a number, and then a sign.
        let first = letters_at(&special, 0);
        let operand = format!(
            r"(?:{}\w*{more}|[0-9]+{more})(?:{sign}|{other}|\*|\z)",
            all_but(&first, true)
        );
        let (behind_slash, behind_dash) = match form.calls {
            Calls::Any => (
                format!("{sign}|{other}|{operand}|"),
                format!(r"{sign}|{other}|\*|{operand}|"),
            ),
            Calls::Of(_) => (String::new(), format!("{sign}|{other}|{operand}|")),
            Calls::None => (String::new(), String::new()),
        };
        let [text, name, quoted] = self.literals();
        let often = format!(r"{}|[1-9][0-9]*{more}\b{signs}|{text}{signs}", words.plain);
        let seldom = format!(r"{number}|{name}|{quoted}|#[^\n]*{more}(?:\n|\z){system}");
        let trees = match words.trees.as_str() {
            "" => String::new(),
            trees => format!("(?:{trees})|"),
        };
        let token = format!(
            r"(?:{often}|{trees}(?:{seldom}|\*|/(?:{behind_slash}\*{comment})|-(?:{behind_dash}-{line})){signs})"
        );
        let behind_verb = if form.spaced { r"[\t\n\r ]" } else { r"\b" };
        let lead = if form.wrapped { r"[\t-\r (]" } else { BLANK };
        let rest = format!(r"{signs}{token}*{more}(?:;{BLANK}*{more})?{more}\z");
        let rest = match form.plain_reads {
            true => format!("(?:{}|{rest})", self.plain_read()),
            false => rest,
        };
        format!(
            r"\A(?:{lead}|/\*{comment}|--{line}|#[^\n]*{more}(?:\n|\z))*{more}{}{behind_verb}{rest}",
            any_of(form.verbs)
        )
    }

    /// Branches for a word that begins with a letter and is not out, each with the signs behind it.
    fn words_and_signs(self, special: &[(&[u8], WordRole)], signs: &str) -> Words {
        let more = self.more();
        let (first, second) = (letters_at(special, 0), letters_at(special, 1));
        let behind = format!(r"\b{signs}");
        let mut branches = vec![format!(r"{}\w*{more}{behind}", all_but(&first, true))];
        if !first.is_empty() {
            let any = one_byte(&first);
            branches.push(format!(r"{any}{}\w*{more}{behind}", all_but(&second, false)));
            branches.push(format!("{any}{behind}"));
        }
        let plain = branches.join("|");
        let tree = |letter: u8| {
            let rest = behind_letter(special, letter);
            let own = letters_at(&rest, 0);
            let others: Vec<u8> = second
                .iter()
                .copied()
                .filter(|letter| !own.contains(letter))
                .collect();
            let mut tree = self.longer_words(&rest);
            if !others.is_empty() {
                tree.insert(0, format!(r"{}\w*{more}\b", one_byte(&others)));
            }
            format!("{}(?:{}){signs}", char::from(letter), tree.join("|"))
        };
        let trees: Vec<String> = first.iter().copied().map(tree).collect();
        Words {
            plain,
            trees: trees.join("|"),
        }
    }

    /// The rest of a word behind a common beginning of special words, which are given without it.
    fn rest_of_word(self, special: &[(&[u8], WordRole)]) -> String {
        let more = self.more();
        let next = letters_at(special, 0);
        let mut branches = vec![format!(r"{}\w*{more}\b", all_but(&next, false))];
        branches.extend(self.longer_words(special));
        format!("(?:{})", branches.join("|"))
    }

    /// The branches of it for words that begin with the next letter of a special one.
    fn longer_words(self, special: &[(&[u8], WordRole)]) -> Vec<String> {
        let more = self.more();
        let next = letters_at(special, 0);
        let branch = |letter: u8| {
            let rest = behind_letter(special, letter);
            let here = rest
                .iter()
                .find_map(|(word, role)| word.is_empty().then_some(*role));
            if here == Some(WordRole::BeginningOut) {
                return None;
            }
            if here == Some(WordRole::EndsInDigits) {
                return Some(format!(r"[0-9]+{more}\b"));
            }
            let longer = self.rest_of_word(&rest);
            let behind = match here {
                Some(WordRole::Out | WordRole::BeginningOut | WordRole::EndsInDigits) => longer,
                Some(WordRole::Called) => format!(r"(?:{longer}|\((?:\w+{more}\b|\B)|\b)"),
                None => format!(r"(?:{longer}|\b)"),
            };
            Some(format!("{}{behind}", char::from(letter)))
        };
        next.into_iter().filter_map(branch).collect()
    }
}

/// One of these letters.
fn one_byte(letters: &[u8]) -> String {
    match letters {
        [DIGIT] => "[0-9]".to_owned(),
        [one] => char::from(*one).to_string(),
        many => format!("[{}]", String::from_utf8_lossy(many).replace('#', "0-9")),
    }
}
