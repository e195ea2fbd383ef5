//! The codes SW100 to SW109: what can be wrong with a file before anything it says matters.

shardwright_diagnostics::codes! {
    UNREADABLE = "SW100": "a file cannot be read";
    MALFORMED = "SW101": "a file is not well-formed YAML";
    DUPLICATE_KEY = "SW102": "a key is given twice in one mapping";
    NOT_UTF8 = "SW103": "a file is not UTF-8 text";
    TOO_LARGE = "SW104": "a file is too large, too deep, or expands to too much";
    SEVERAL_DOCUMENTS = "SW105": "a file holds more than one YAML document";
    NOT_IN_LANGUAGE = "SW106": "a YAML feature that the language does not have";
    UNKNOWN_ALIAS = "SW107": "an alias without its anchor";
    NOT_FORMATTED = "SW108": "a file cannot be formatted";
    OTHER_FORM = "SW109": "a file is not in the form of `fmt`";
}
