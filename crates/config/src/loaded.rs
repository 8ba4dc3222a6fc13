use crate::{
    Config, MessageSchemas, Origins, Topics,
    section::AsSlot as _,
    yaml::{Node, Value},
};

/// The resolved configuration and how it came about.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Every setting.
    pub config: Config,
    /// The recorded topics.
    pub topics: Topics,
    /// Extraction and indexing by message type.
    pub schemas: MessageSchemas,
    /// Where each value came from.
    pub origins: Origins,
    /// The file chosen in each group folder: group and option.
    pub choices: Vec<(&'static str, String)>,
    /// The files that were read, in the order of reading; shipped ones begin with `<shipped>/`.
    pub files: Vec<String>,
}

impl Loaded {
    /// The resolved configuration as the text of a `config.yaml` that gives it again.
    pub fn show(&self) -> String {
        self.render(false)
    }

    /// The same, with the place that each value came from in a comment behind it.
    pub fn show_with_origins(&self) -> String {
        self.render(true)
    }

    fn render(&self, with_origins: bool) -> String {
        let mut text = "defaults:\n".to_owned();
        for (group, option) in &self.choices {
            push(&mut text, format_args!("  - {group}: {option}\n"));
        }
        text.push_str("  - _self_\n");
        let Value::Map(sections) = self.config.clone().as_slot().value() else { return text };
        // The groups stand in the list above.
        let is_group = |key: &str| self.choices.iter().any(|(group, _)| *group == key);
        for section in sections.iter().filter(|section| !is_group(&section.key)) {
            self.entry(&mut text, 0, "", &section.key, &section.value, with_origins);
        }
        text
    }

    fn entry(
        &self,
        text: &mut String,
        depth: usize,
        prefix: &str,
        key: &str,
        node: &Node,
        with_origins: bool,
    ) {
        let path = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
        push(text, format_args!("{:indent$}{}:", "", quoted(key), indent = 2 * depth));
        match &node.value {
            Value::Map(entries) if !entries.is_empty() => {
                text.push('\n');
                for entry in entries {
                    self.entry(text, depth + 1, &path, &entry.key, &entry.value, with_origins);
                }
            }
            _ => {
                push(text, format_args!(" {}", flow(node)));
                if with_origins {
                    match self.origins.get(&path) {
                        Some(origin) => push(text, format_args!("  # {}", one_line(origin))),
                        None => text.push_str("  # default"),
                    }
                }
                text.push('\n');
            }
        }
    }
}

/// A value on one line.
fn flow(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Whole(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::Text(text) | Value::EnvironmentText(text) => quoted(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(_) => "{}".to_owned(),
    }
}

/// Text as YAML: plain when nothing could take it for something else, else in double quotes.
fn quoted(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "/_-.".contains(c))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&text.to_ascii_lowercase().as_str());
    if is_plain {
        return text.to_owned();
    }
    let mut quoted = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            c if c.is_control() || ('\u{2028}'..='\u{2029}').contains(&c) || c == '\u{feff}' => {
                push(&mut quoted, format_args!("\\u{:04x}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// An origin holds what a person typed; in a comment it may not begin a new line.
fn one_line(origin: &crate::Origin) -> String {
    origin.to_string().replace(|c: char| c.is_control(), " ")
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.push_str(&std::fmt::format(arguments));
}
