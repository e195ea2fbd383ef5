//! Formatting: what changes, what stays, and that nothing is lost.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use shardwright_diagnostics::{Sources, render};
use shardwright_documents::{format, read, to_json};

fn formatted(text: &str) -> String {
    let mut sources = Sources::new();
    let (formatted, problems) = format(&mut sources, "f.yaml", text.as_bytes());
    formatted.unwrap_or_else(|| panic!("{}", render::text::render(&problems, &sources, false)))
}

/// The values as JSON and the comments, by the reader.
fn meaning(text: &str) -> (Option<serde_json::Value>, Vec<String>) {
    let mut sources = Sources::new();
    let (document, _) = read(&mut sources, "f.yaml", text.as_bytes());
    let comments = document.comments.iter();
    let comments = comments.map(|comment| sources.slice(comment.span).trim_end().to_owned());
    (document.root.as_ref().map(to_json), comments.collect())
}

/// Formats, and checks what must hold of every result.
fn check(text: &str) -> String {
    let once = formatted(text);
    assert_eq!(meaning(&once), meaning(text), "changed:\n{text}\n---\n{once}");
    assert_eq!(formatted(&once), once, "formatting again changes:\n{text}");
    once
}

#[test]
fn indentation_spacing_and_quotes() {
    insta::assert_snapshot!(check(
        "version:   1\nclusters:\n      pay:\n            type:   'galera'\n            servers:\n            - pxc1\n            -   port:  3306\n                host: \"a\"\nusers: {app: {password:  { env: 'A' },cluster: one},   b: [ 1,2,  [ ] , { } ]}\npatterns: ['^\\d+', 'it''s', 'say \"x\"', \"\\u00fc\", '']\n"
    ), @r#"
    version: 1
    clusters:
      pay:
        type: "galera"
        servers:
          - pxc1
          - port: 3306
            host: "a"
    users: {app: {password: {env: "A"}, cluster: one}, b: [1, 2, [], {}]}
    patterns: ['^\d+', "it's", 'say "x"', "\u00fc", ""]
    "#);
}

#[test]
fn comments_and_blank_lines_stay_with_what_they_are_about() {
    insta::assert_snapshot!(check(
        "# first\n\n\n#second\nclusters:     # the list\n    # about a\n    a:\n        type: single           # aligned\n        longer_name: x         # aligned\n        # at the end of a\n    # at the end of clusters\n\n\n\n# about users\nusers:\n\n    app: 1 # x\n    nothing:\n        # would stand in it\nlast:\n- # of the item\n  a: 1\n- b   # c\n   # indented\n# end\n"
    ), @r"
    # first

    #second
    clusters:     # the list
      # about a
      a:
        type: single               # aligned
        longer_name: x             # aligned
        # at the end of a
      # at the end of clusters

    # about users
    users:

      app: 1   # x
      nothing:
        # would stand in it
    last:
      -  # of the item
        a: 1
      - b # c
      # indented
    # end
    ");
}

#[test]
fn brackets_over_several_lines_become_blocks_and_lists_of_values_are_filled() {
    let keys: Vec<String> = (1000..1040).map(|n| n.to_string()).collect();
    let text = format!(
        "users: {{\n  # the app\n  app: {{cluster: one,\n    schema: x}}, # trailing\n  b: {{}},\n  # end\n  }}\nshort: [a,\n  b]\nkeys: [{},\n  last]\nmixed: [\n  {{a: 1}}, b: 2,\n  c # why\n]\none_line: [{}]\n",
        keys.join(",\n"),
        keys.join(","),
    );
    insta::assert_snapshot!(check(&text), @r"
    users:
      # the app
      app:
        cluster: one
        schema: x
        # trailing
      b: {}
      # end
    short: [a, b]
    keys: [
      1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 1015, 1016, 1017,
      1018, 1019, 1020, 1021, 1022, 1023, 1024, 1025, 1026, 1027, 1028, 1029, 1030, 1031, 1032, 1033, 1034, 1035,
      1036, 1037, 1038, 1039, last]
    mixed:
      - {a: 1}
      - b: 2
      - c  # why
    one_line: [1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 1015, 1016, 1017, 1018, 1019, 1020, 1021, 1022, 1023, 1024, 1025, 1026, 1027, 1028, 1029, 1030, 1031, 1032, 1033, 1034, 1035, 1036, 1037, 1038, 1039]
    ");
}

#[test]
fn texts_over_lines_keep_every_letter() {
    let text = concat!(
        "a: |   # literal\n      SELECT 1\n        FROM t   \n\n\n",
        "b: >-\n folded\n text\n\n more\nc: |2\n    two more\n  x\n",
        "d: |+\n   keep\n\n\ne: \"one\n      two \\\n   three\n\n   four\"\n",
        "f: plain\n      and on\n\n      after\ng: 'a\n  b'\nlist:\n- |\n  in a list\n- >\n  x\n-\n   - deep\n   -   |-\n       y\nlast: |\n  end",
    );
    insta::assert_snapshot!(check(text), @r#"
    a: |   # literal
      SELECT 1
        FROM t   

    b: >-
      folded
      text

      more
    c: |2
        two more
      x
    d: |+
      keep


    e: "one
      two \
      three

      four"
    f: plain
      and on

      after
    g: 'a
      b'
    list:
      - |
        in a list
      - >
        x
      - - deep
        - |-
          y
    last: |
      end
    "#);
}

#[test]
fn anchors_aliases_tags_and_markers() {
    assert_eq!(check(""), "");
    assert_eq!(check("{&x }"), "{&x :}\n");
    insta::assert_snapshot!(check(
        "\u{feff}--- # start\r\nbase:   &base   # shared\r\n    a:  1\r\nother:\r\n    <<:   *base\r\n    b: !!str   17\r\n    c: &x   !!str  y\r\n    d: &e\r\n    *x : alias\r\n? long\r\n: 1\r\nlist: &l\r\n-   &i {a:  *x}\r\n- &m\r\n  k: v\r\n...\r\n# after\r\n"
    ), @r"
    --- # start
    base: &base     # shared
      a: 1
    other:
      <<: *base
      b: !!str 17
      c: &x !!str y
      d: &e
      *x : alias
    long: 1
    list: &l
      - &i {a: *x}
      - &m
        k: v
    # after
    ");
}

#[test]
fn what_cannot_be_read_or_kept_is_left_alone() {
    let left = |text: &str| {
        let mut sources = Sources::new();
        let (formatted, problems) = format(&mut sources, "f.yaml", text.as_bytes());
        assert_eq!(formatted, None);
        render::text::render(&problems, &sources, false)
    };
    assert!(left("a: [1\nb: 2\n").contains("error[SW101]"));
    assert!(left("a: 1\na: 2\n").contains("error[SW102]"));
    insta::assert_snapshot!(left("%YAML 1.2\n---\na:   1\n"), @r"
    warning[SW108]: `f.yaml` is written in a way that cannot be formatted
      ╭▸ f.yaml:3:1
      │
    3 │ a:   1
      │ ━ left as it is
      │
      ╰ more: shardwright explain SW108
    ");
}

fn yaml_files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("it can be listed") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            yaml_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
}

/// Every file that can be read is formatted without loss, and the examples stand in their form.
#[test]
fn the_files_of_the_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (directory, is_formatted) in [("examples", true), ("tests/invalid", false)] {
        let mut files = Vec::new();
        yaml_files(&root.join(directory), &mut files);
        assert!(!files.is_empty());
        // What `fmt` leaves alone is a defect of its own.
        let is_left_alone = |file: &&PathBuf| {
            let name = file.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("format_"))
        };
        for file in files.iter().filter(|file| !is_left_alone(file)) {
            let text = std::fs::read_to_string(file).expect("it can be read");
            let mut sources = Sources::new();
            let (_, problems) = read(&mut sources, "f.yaml", text.as_bytes());
            if problems.has_errors() {
                continue;
            }
            let formatted = check(&text);
            if is_formatted {
                assert_eq!(formatted, text, "{} is not formatted", file.display());
            }
        }
    }
}

/// A tree to be written in many ways.
#[derive(Clone, Debug)]
enum Tree {
    Scalar(usize),
    List(Vec<Tree>),
    Map(Vec<Tree>),
}

fn trees() -> impl Strategy<Value = Tree> {
    let scalar = (0usize..14).prop_map(Tree::Scalar);
    scalar.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Tree::List),
            proptest::collection::vec(inner, 0..5).prop_map(Tree::Map),
        ]
    })
}

/// Writes a tree, each choice of form taken from a list of numbers.
struct Writer<'a> {
    out: String,
    choices: std::iter::Cycle<std::slice::Iter<'a, u8>>,
    comments: usize,
}

impl Writer<'_> {
    fn choose(&mut self, among: u8) -> u8 {
        self.choices.next().expect("there is one") % among
    }

    /// Blank lines and comments between two lines.
    fn between(&mut self, indent: usize) {
        for _ in 0..self.choose(3).saturating_sub(1) {
            match self.choose(4) {
                0 | 1 => self.out.push_str("\n\n"),
                2 => {
                    let deeper = usize::from(self.choose(3));
                    self.own_comment(indent + deeper);
                }
                _ => self.own_comment(indent),
            }
        }
    }

    fn own_comment(&mut self, indent: usize) {
        self.comments += 1;
        self.out
            .push_str(&format!("{:indent$}# c{} \n", "", self.comments));
    }

    fn end_line(&mut self) {
        if self.choose(4) == 0 {
            self.comments += 1;
            let gap = usize::from(self.choose(5)) + 1;
            self.out.push_str(&format!("{:gap$}# t{}", "", self.comments));
        }
        self.out.push('\n');
    }

    /// A value behind `key:` or `-` at column `indent`.
    fn value(&mut self, tree: &Tree, indent: usize) {
        let step = usize::from(self.choose(3)) + 1;
        match tree {
            Tree::Scalar(kind @ 10..) => self.block_scalar(*kind, indent + step),
            Tree::Scalar(_) => {
                self.out.push(' ');
                self.flow(tree, indent + 1, false);
                self.end_line();
            }
            Tree::List(items) if !items.is_empty() && self.choose(3) > 0 => {
                self.end_line();
                self.list(items, indent + step);
            }
            Tree::Map(values) if !values.is_empty() && self.choose(3) > 0 => {
                self.end_line();
                self.map(values, indent + step, false);
            }
            _ => {
                self.out.push_str("  ");
                let over_lines = self.choose(2) == 0;
                self.flow(tree, indent + 1, over_lines);
                self.end_line();
            }
        }
    }

    fn list(&mut self, items: &[Tree], indent: usize) {
        for item in items {
            self.between(indent);
            self.out.push_str(&format!("{:indent$}-", ""));
            match item {
                Tree::Map(values) if !values.is_empty() && self.choose(2) == 0 => {
                    self.out.push(' ');
                    self.map(values, indent + 2, true);
                }
                item => self.value(item, indent),
            }
        }
    }

    fn map(&mut self, values: &[Tree], indent: usize, inline: bool) {
        for (number, value) in values.iter().enumerate() {
            if !(inline && number == 0) {
                self.between(indent);
                self.out.push_str(&" ".repeat(indent));
            }
            let key = self.key(number);
            self.out.push_str(&format!("{key}:"));
            self.value(value, indent);
        }
    }

    fn key(&mut self, number: usize) -> String {
        match self.choose(4) {
            0 => format!("\"k {number}\""),
            1 => format!("'k{number}'"),
            _ => format!("k{number}"),
        }
    }

    fn block_scalar(&mut self, kind: usize, indent: usize) {
        let pad = " ".repeat(indent);
        let header = ["|", ">", "|-", ">-", "|+"][usize::from(self.choose(5))];
        self.out.push_str(&format!(" {header}"));
        self.end_line();
        for line in [
            &["x"][..],
            &["a", "  b", "", "c "],
            &["# no comment", ""],
            &["", "y: [z"],
        ][kind - 10]
        {
            self.out.push_str(&if line.is_empty() {
                "\n".to_owned()
            } else {
                format!("{pad}{line}\n")
            });
        }
    }

    fn flow(&mut self, tree: &Tree, indent: usize, over_lines: bool) {
        match tree {
            Tree::Scalar(kind) => {
                let texts = [
                    "1",
                    "a b",
                    "'it''s'",
                    "\"d\\n\"",
                    "~",
                    "true",
                    "''",
                    "'\\d'",
                    "0.5",
                    "\"two\\\n     lines\"",
                    "x",
                ];
                let text = texts[(*kind).min(10)];
                let text = if over_lines || !text.contains('\n') {
                    text
                } else {
                    "\"one\""
                };
                self.out.push_str(text);
            }
            Tree::List(items) => {
                self.out.push('[');
                for (number, item) in items.iter().enumerate() {
                    self.separate(number, indent, over_lines);
                    self.flow(item, indent, over_lines);
                }
                self.close(items.is_empty(), indent, over_lines);
                self.out.push(']');
            }
            Tree::Map(values) => {
                self.out.push('{');
                for (number, value) in values.iter().enumerate() {
                    self.separate(number, indent, over_lines);
                    let key = self.key(number);
                    self.out.push_str(&format!("{key}: "));
                    self.flow(value, indent, over_lines);
                }
                self.close(values.is_empty(), indent, over_lines);
                self.out.push('}');
            }
        }
    }

    fn separate(&mut self, number: usize, indent: usize, over_lines: bool) {
        if number > 0 {
            self.out.push(',');
        }
        self.flow_gap(indent, over_lines);
    }

    fn close(&mut self, empty: bool, indent: usize, over_lines: bool) {
        if !empty && self.choose(4) == 0 {
            self.out.push(',');
        }
        self.flow_gap(indent, over_lines);
    }

    fn flow_gap(&mut self, indent: usize, over_lines: bool) {
        match self.choose(6) {
            0 if over_lines => {
                self.end_line();
                self.between(indent);
                self.out.push_str(&" ".repeat(indent));
            }
            1 => {}
            _ => self.out.push(' '),
        }
    }
}

proptest! {
    #[test]
    fn any_document_means_the_same_and_formats_once(
        values in proptest::collection::vec(trees(), 1..5),
        choices in proptest::collection::vec(any::<u8>(), 1..200),
    ) {
        let mut writer = Writer { out: String::new(), choices: choices.iter().cycle(), comments: 0 };
        writer.map(&values, 0, false);
        writer.between(0);
        let text = writer.out;
        let mut sources = Sources::new();
        let (_, problems) = read(&mut sources, "f.yaml", text.as_bytes());
        prop_assume!(!problems.has_errors());
        check(&text);
    }

    #[test]
    fn whatever_is_formatted_stays_so(
        text in proptest::collection::vec(prop_oneof![
            Just("a"), Just("b: "), Just(": "), Just("- "), Just("\n"), Just("\n  "), Just("    "), Just("# c\n"), Just("["), Just("]"),
            Just("{"), Just("}"), Just(", "), Just("'"), Just("\""), Just("|\n"), Just(">-\n"), Just("&x "), Just("*x"), Just("? "),
            Just("!!str "), Just("\\"), Just("\t"), Just("\r\n"), Just("---\n"), Just("...\n"), Just("ü"),
        ], 0..24),
    ) {
        let text: String = text.concat();
        let mut sources = Sources::new();
        if let (Some(once), _) = format(&mut sources, "f.yaml", text.as_bytes()) {
            prop_assert_eq!(meaning(&once).0, meaning(&text).0);
            let mut sources = Sources::new();
            prop_assert_eq!(format(&mut sources, "f.yaml", once.as_bytes()).0, Some(once.clone()), "{:?}", text);
        }
    }
}
