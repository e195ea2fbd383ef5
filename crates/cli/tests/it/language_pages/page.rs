//! A page of the language's documentation as blocks, and what the comments above a block say about it.

/// A fenced block.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The 1-based line of its fence.
    pub(super) line: usize,
    /// The word behind the fence: `yaml`, `text`.
    pub(super) info: String,
    pub(super) text: String,
    /// `<!-- with: previous -->`: all topology blocks before it on the page belong to it.
    pub(super) with_previous: bool,
    /// `<!-- engines: proxysql-2.7 -->`: what the project lists.
    pub(super) engines: Option<String>,
    /// `<!-- environment: prod -->`: the environment that it is checked in.
    pub(super) environment: Option<String>,
    /// `<!-- file: shardwright.yaml -->`: the block is this file of the project, for it and for the blocks after it.
    pub(super) file: Option<String>,
    /// `<!-- fails: SW131 -->`: what `validate` must report.
    pub(super) fails: Vec<String>,
    /// `<!-- finds: SW204 -->`: what `lint` must report.
    pub(super) finds: Vec<String>,
}

/// The fenced blocks of a page, or what is wrong with its form.
pub(super) fn blocks(page: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut comments: Vec<(usize, &str)> = Vec::new();
    for (line, text) in page.lines().enumerate().map(|(index, text)| (index + 1, text)) {
        if let Some(block) = &mut open {
            if text.trim_end() == "```" {
                blocks.extend(open.take());
            } else {
                block.text.push_str(text);
                block.text.push('\n');
            }
            continue;
        }
        if is_mark_of_table(text) {
            continue;
        }
        if text.trim_start().starts_with("<!--") {
            comments.push((line, text));
            continue;
        }
        let fence = text.strip_prefix("```");
        if fence.is_none() && (text.trim_start().starts_with("```") || text.starts_with("~~~")) {
            return Err(format!(
                "line {line}: a fence is ``` at the beginning of the line"
            ));
        }
        if let Some(info) = fence {
            let mut block = Block {
                line,
                info: info.trim().to_owned(),
                ..Block::default()
            };
            for (line, comment) in comments.drain(..) {
                directives(&mut block, comment).map_err(|wrong| format!("line {line}: {wrong}"))?;
            }
            open = Some(block);
        } else if let Some((line, comment)) = comments.first() {
            return Err(format!("line {line}: no fence follows {comment}"));
        }
    }
    match (open, comments.first()) {
        (Some(block), _) => Err(format!("line {}: the fence is not closed", block.line)),
        (None, Some((line, comment))) => Err(format!("line {line}: no fence follows {comment}")),
        (None, None) => Ok(blocks),
    }
}

/// Whether a generated table begins or ends here.
fn is_mark_of_table(text: &str) -> bool {
    text.starts_with("<!-- fields: ") || text == "<!-- end -->"
}

/// `<!-- name: value -->`, or several behind each other with `;`.
fn directives(block: &mut Block, comment: &str) -> Result<(), String> {
    let inside = comment
        .trim()
        .strip_prefix("<!--")
        .and_then(|rest| rest.strip_suffix("-->"))
        .ok_or_else(|| format!("a comment stands on one line: {comment}"))?;
    for directive in inside.split(';') {
        let unknown = || format!("nobody knows the directive `{}`", directive.trim());
        let (name, value) = directive.split_once(':').ok_or_else(unknown)?;
        let value = value.trim();
        let codes = || {
            value
                .split([',', ' '])
                .filter(|code| !code.is_empty())
                .map(str::to_owned)
        };
        match (name.trim(), value) {
            (_, "") => return Err(unknown()),
            ("with", "previous") => block.with_previous = true,
            ("engines", engines) => block.engines = Some(engines.to_owned()),
            ("environment", name) => block.environment = Some(name.to_owned()),
            ("file", path) => block.file = Some(path.to_owned()),
            ("fails", _) => block.fails = codes().collect(),
            ("finds", _) => block.finds = codes().collect(),
            _ => return Err(unknown()),
        }
    }
    Ok(())
}
