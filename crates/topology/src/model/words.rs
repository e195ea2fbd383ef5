//! The words of the language that stand for values.

/// A value that is written as one of some words.
pub(crate) trait Words: Copy + PartialEq + Sync + 'static {
    /// Each word with what it means, in the order of the language. A value without a word is written in another form.
    const WORDS: &'static [(&'static str, Self)];

    /// What a word means.
    fn of_word(word: &str) -> Option<Self> {
        let known = Self::WORDS.iter().find(|(known, _)| *known == word)?;
        Some(known.1)
    }

    /// The word of a value.
    fn word(self) -> &'static str {
        let known = Self::WORDS.iter().find(|(_, value)| *value == self);
        known.map_or("", |(word, _)| word)
    }

    /// Every word.
    fn words() -> Vec<&'static str> {
        Self::WORDS.iter().map(|(word, _)| *word).collect()
    }
}
