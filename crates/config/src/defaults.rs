//! The `defaults` lists: which file of each group folder is chosen, and in which order they lie.

use crate::{
    ConfigError, Origin, Problem,
    files::{Document, GROUPS, is_name},
    nearest::nearest,
    yaml::{Node, Value},
};

/// One entry of the list in `config.yaml`.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    /// `_self_`: the file that holds the list.
    Own,
    /// The file that is chosen in this folder.
    Group(&'static str),
}

/// A group's choice and who made it.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) group: &'static str,
    pub(crate) option: String,
    pub(crate) origin: Origin,
}

/// The list of a root file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Defaults {
    pub(crate) order: Vec<Item>,
    pub(crate) choices: Vec<Choice>,
}

impl Defaults {
    /// Takes the list out of `config.yaml`. Groups that it leaves out come first, and `_self_`
    /// last; so a file without a list lies over the files of the groups.
    ///
    /// # Errors
    ///
    /// An entry that is neither `_self_` nor `group: option`, or stands twice.
    pub(crate) fn take(document: &mut Document) -> Result<Self, ConfigError> {
        let mut defaults = Self::default();
        let mut has_own = false;
        for item in take_list(document)? {
            let refused = |message: &str| refused(document, &item, message);
            if item.text() == Some("_self_") {
                if has_own {
                    return Err(refused("`_self_` stands twice"));
                }
                has_own = true;
                defaults.order.push(Item::Own);
                continue;
            }
            let choice = choice(document, &item, "")?;
            if defaults.choices.iter().any(|known| known.group == choice.group) {
                return Err(refused(&format!("the group `{}` stands twice", choice.group)));
            }
            defaults.order.push(Item::Group(choice.group));
            defaults.choices.push(choice);
        }
        for group in GROUPS {
            if !defaults.choices.iter().any(|known| known.group == group) {
                defaults.order.insert(0, Item::Group(group));
            }
        }
        if !has_own {
            defaults.order.push(Item::Own);
        }
        Ok(defaults)
    }
}

/// Takes the `override group: option` entries out of a deployment preset.
///
/// # Errors
///
/// An entry of another form.
pub(crate) fn take_overrides(document: &mut Document) -> Result<Vec<Choice>, ConfigError> {
    let items = take_list(document)?;
    let items = items.iter().filter(|item| item.text() != Some("_self_"));
    items.map(|item| choice(document, item, "override ")).collect()
}

/// Removes and returns the list under `defaults`.
fn take_list(document: &mut Document) -> Result<Vec<Node>, ConfigError> {
    let Value::Map(entries) = &mut document.root.value else { return Ok(Vec::new()) };
    let Some(at) = entries.iter().position(|entry| entry.key == "defaults") else {
        return Ok(Vec::new());
    };
    let list = entries.remove(at).value;
    match list.value {
        Value::List(items) => Ok(items),
        _ => Err(Problem::WrongType {
            key: "defaults".to_owned(),
            expected: "a list such as [storage: mcap, recorder: ros2bag, _self_]".to_owned(),
            found: list.found(),
        }
        .at(document.place.at(list.position))),
    }
}

fn choice(document: &Document, item: &Node, prefix: &str) -> Result<Choice, ConfigError> {
    let entry = match &item.value {
        Value::Map(entries) => entries.first().filter(|_| entries.len() == 1),
        _ => None,
    };
    let Some(entry) = entry else {
        let message = format!("an entry is `_self_` or `{prefix}group: option`");
        return Err(refused(document, item, &message));
    };
    let Some(name) = entry.key.strip_prefix(prefix) else {
        let message = format!("a preset changes a choice with `{prefix}{}: option`", entry.key);
        return Err(refused(document, item, &message));
    };
    let name = name.trim_start_matches('/');
    let Some(group) = GROUPS.into_iter().find(|group| *group == name) else {
        return Err(Problem::UnknownKey {
            key: format!("defaults.{}", entry.key),
            nearest: nearest(name, GROUPS).map(|near| format!("{prefix}{near}")),
            expected: GROUPS.iter().map(|group| format!("{prefix}{group}")).collect(),
        }
        .at(document.place.at(entry.position)));
    };
    match entry.value.text().filter(|option| is_name(option)) {
        Some(option) => Ok(Choice {
            group,
            option: option.to_owned(),
            origin: document.place.at(entry.value.position),
        }),
        None => Err(Problem::WrongType {
            key: format!("defaults.{group}"),
            expected: format!("the name of a file in {group}/, without .yaml"),
            found: entry.value.found(),
        }
        .at(document.place.at(entry.value.position))),
    }
}

fn refused(document: &Document, item: &Node, message: &str) -> ConfigError {
    Problem::Defaults { message: message.to_owned() }.at(document.place.at(item.position))
}
