//! Which texts a collation calls equal, by its name.

/// How the texts of a column compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equality {
    /// The collation's name.
    pub collation: String,
    /// Blanks at the end do not count.
    pub is_padded: bool,
    /// What else does not count.
    pub folds: Folds,
}

/// What a collation does not tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folds {
    /// Nothing.
    Nothing,
    /// Control characters and texts beyond ASCII; case counts.
    Marks,
    /// Case as well. Of printable ASCII without capitals, `` ` `` and `~`, no two texts are equal.
    Case,
    /// It is not known.
    Unknown,
}

/// Words of the names of collations in which texts of printable ASCII without capitals, `` ` `` and `~` are all different.
/// A test asks the servers for each of them. Others are not here: some take `i` for `y` (Lithuanian, Latvian of MySQL 8) or
/// for `j` (Roman, Latin), `ccs` for `cscs` (Hungarian of MySQL 8), or leave characters out (Czech of latin2 and cp1250).
const PLAIN: &[&str] = &[
    "general",
    "mysql500",
    "unicode",
    "520",
    "0900",
    "uca1400",
    "nopad",
    "ai",
    "as",
    "ci",
    "swedish",
    "german1",
    "german2",
    "danish",
    "spanish",
    "spanish2",
    "icelandic",
    "romanian",
    "slovenian",
    "polish",
    "estonian",
    "slovak",
    "turkish",
    "croatian",
    "vietnamese",
    "esperanto",
    "persian",
    "sinhala",
    "english",
    "bulgarian",
    "de",
    "pb",
    "is",
    "ro",
    "sl",
    "pl",
    "et",
    "es",
    "sv",
    "da",
    "sk",
    "trad",
    "eo",
    "hr",
    "vi",
    "ru",
    "nb",
    "nn",
    "tr",
];

/// Character sets of which PLAIN is not true: two letters share a weight, or ASCII is not ASCII.
const ODD: &[&str] = &[
    "swe7", "macce", "big5", "gbk", "gb2312", "gb18030", "tis620", "geostd8",
];

impl Equality {
    /// The equality of a collation of a character set.
    pub fn of(charset: &str, collation: &str) -> Self {
        let name = collation.to_ascii_lowercase();
        let charset = charset.to_ascii_lowercase();
        let words: Vec<&str> = name.split('_').skip(1).collect();
        let has = |word: &str| words.contains(&word);
        let is_odd = ODD.contains(&charset.as_str());
        let is_cased = matches!(
            words[..],
            ["general", "cs"]
                | ["0900", "as", "cs"]
                | ["uca1400", "ai" | "as", "cs"]
                | ["uca1400", "nopad", "ai" | "as", "cs"]
        );
        let folds = match words.last() {
            Some(&"bin") if charset != "swe7" => Folds::Nothing,
            _ if is_odd => Folds::Unknown,
            _ if is_cased => Folds::Marks,
            Some(&"ci") if words.iter().all(|word| PLAIN.contains(word)) => Folds::Case,
            _ => Folds::Unknown,
        };
        Self {
            is_padded: !(has("nopad") || has("0900")),
            folds,
            collation: name,
        }
    }

    /// Whether the text is of the form in which no two texts are equal.
    pub fn is_plain(&self, text: &str) -> bool {
        let is_clear = |byte: u8| match self.folds {
            Folds::Nothing => true,
            Folds::Marks => matches!(byte, b' '..=b'~') && !matches!(byte, b'`' | b'~'),
            Folds::Case => matches!(byte, b' '..=b'~') && !matches!(byte, b'`' | b'~' | b'A'..=b'Z'),
            Folds::Unknown => false,
        };
        text.bytes().all(is_clear) && !(self.is_padded && text.ends_with(' '))
    }

    /// The form in which no two texts are equal, human-readable.
    pub fn plain_form(&self) -> String {
        let form = match self.folds {
            Folds::Nothing => "text",
            Folds::Marks => "printable ASCII text without ` and ~",
            Folds::Case => "printable ASCII text without capitals, ` and ~",
            Folds::Unknown => return "no text; give the column a collation such as utf8mb4_bin".to_owned(),
        };
        match self.is_padded {
            true => format!("{form}, without blanks at the end"),
            false => form.to_owned(),
        }
    }

    /// A coarser form of a text of printable ASCII: texts that differ in it differ on the server. `None` for other texts.
    pub fn folded(&self, text: &str) -> Option<String> {
        let is_plain_ascii = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let text = if self.is_padded {
            text.trim_end_matches(' ')
        } else {
            text
        };
        match self.folds {
            Folds::Nothing => Some(text.to_owned()),
            Folds::Unknown => None,
            Folds::Marks | Folds::Case if !is_plain_ascii || text.contains(['`', '~']) => None,
            Folds::Marks | Folds::Case => Some(text.to_ascii_lowercase()),
        }
    }
}
