//! Words that stand for values.

/// A value that is written as one of some words.
pub trait Words: Copy + PartialEq + Sync + 'static {
    /// Each word with what it means, in the order of the language. A value without a word is written in another form.
    const WORDS: &'static [(&'static str, Self)];

    /// What a word means.
    fn of_word(word: &str) -> Option<Self> {
        let entry = Self::WORDS.iter().find(|(candidate, _)| *candidate == word)?;
        Some(entry.1)
    }

    /// The word of a value.
    fn word(self) -> &'static str {
        let entry = Self::WORDS.iter().find(|(_, value)| *value == self);
        entry.map_or("", |(word, _)| word)
    }

    /// Every value that has a word.
    fn values() -> impl Iterator<Item = Self> {
        Self::WORDS.iter().map(|(_, value)| *value)
    }

    /// Every word.
    fn words() -> Vec<&'static str> {
        Self::WORDS.iter().map(|(word, _)| *word).collect()
    }
}

/// Enumerations whose values are written as words: in the language, and in everything that is serialised.
macro_rules! words {
    ($(
        $(#[$attribute:meta])*
        pub enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident = $word:literal,)+
        }
    )+) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$of_variant])* #[serde(rename = $word)] $variant,)+
        }

        impl $crate::Words for $name {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant),)+];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::Words::word(*self))
            }
        }
    )+};
}

pub(crate) use words;
