use std::path::PathBuf;

use crate::{
    ConfigError, Loaded, MessageSchemas, Problem, Topics,
    apply::Tree,
    check::check,
    config::Recording,
    defaults::{Choice, Defaults, Item, take_overrides},
    environment::{self, Environment, variable},
    files::{DEPLOYMENT_FOLDER, Document, Files, GROUPS, ROOT, SCHEMAS, TOPICS, beside, is_name},
    origin::Place,
    overrides::{Action, Override, split_line},
    yaml::Value,
};

/// Where the configuration comes from, besides the shipped files and the environment.
///
/// From the weakest to the strongest: the shipped files; the files of `dir`; the deployment
/// preset; the environment; `overrides`. Which file of each group folder takes part is settled
/// first, in the same order, so that `recorder=none` on the command line brings
/// `recorder/none.yaml` in at the place of its group, below every value that someone set.
#[derive(Debug, Clone, Default)]
pub struct Loader {
    /// A folder with any of `config.yaml`, `storage/`, `recorder/`, `deployment/`, `topics.yaml`
    /// and `message_schemas.yaml`.
    pub dir: Option<PathBuf>,
    /// `key=value`, `group=option`, `+key=value`, `++key=value`, `~key`; the last wins.
    pub overrides: Vec<String>,
}

impl Loader {
    /// Reads, composes and checks everything. `environment` looks one variable up.
    ///
    /// # Errors
    ///
    /// A file that cannot be read; text that is not YAML; a key that does not exist, stands twice
    /// or looks like a secret; a value of the wrong type or out of range; a group option or a
    /// preset that does not exist; an override that is not of the grammar; an interpolation other
    /// than `${oc.env:VAR}`.
    pub fn load(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Loaded, ConfigError> {
        let overrides = self.parse_overrides(environment)?;
        let mut files = Files::new(self.dir.as_deref(), environment)?;

        let shipped_root = root(files.shipped(ROOT)?)?;
        let mut dir_root = root(files.in_dir(ROOT)?)?;
        let mut preset = preset(&mut files, environment)?;
        let preset_choices = preset.as_mut().map(take_overrides).transpose()?.unwrap_or_default();
        let layers = [&shipped_root.1.choices, &dir_root.1.choices, &preset_choices];
        let choices = choose(&layers, &overrides);

        let mut tree = Tree::default();
        let shipped_groups = groups(&choices, |name| files.shipped(name))?;
        lay(&mut tree, &shipped_root, &shipped_groups)?;
        let shipped = tree.clone();

        let dir_groups = groups(&choices, |name| files.in_dir(name))?;
        for choice in &choices {
            let is_there = [&shipped_groups, &dir_groups]
                .iter()
                .any(|found| found.iter().any(|(group, _)| *group == choice.group));
            if !is_there {
                let origin = choice.origin.clone();
                return Err(files.unknown_option(choice.group, &choice.option, origin));
            }
        }
        // Without a config.yaml of its own, a folder follows the order of the shipped one.
        if dir_root.0.is_none() {
            dir_root.1.order.clone_from(&shipped_root.1.order);
        }
        lay(&mut tree, &dir_root, &dir_groups)?;

        if let Some(preset) = &preset {
            tree.overlay(&preset.root, &preset.place)?;
        }
        environment::apply(&mut tree, environment)?;
        for one in &overrides {
            one.apply(&mut tree, &shipped)?;
        }

        check(&tree)?;
        let topics = load_topics(&mut files, &tree)?;
        let schemas = load_schemas(&mut files)?;
        let choices = choices.into_iter().map(|choice| (choice.group, choice.option)).collect();
        Ok(Loaded {
            config: tree.config,
            topics,
            schemas,
            origins: tree.origins,
            choices,
            files: files.into_names(),
        })
    }

    fn parse_overrides(&self, environment: Environment<'_>) -> Result<Vec<Override>, ConfigError> {
        let mut overrides = Vec::new();
        if let Some(line) = variable(environment, environment::OVERRIDES) {
            let texts = split_line(&line).map_err(|message| {
                Problem::Override { message }.at(environment::place(environment::OVERRIDES).whole())
            })?;
            for text in texts {
                let from = Some(environment::OVERRIDES);
                overrides.push(Override::parse(text, from, environment)?);
            }
        }
        for text in &self.overrides {
            overrides.push(Override::parse(text, None, environment)?);
        }
        Ok(overrides)
    }
}

/// A root file without its defaults list, and the list.
type Root = (Option<Document>, Defaults);

fn root(document: Option<Document>) -> Result<Root, ConfigError> {
    let Some(mut document) = document else { return Ok((None, Defaults::default())) };
    let defaults = Defaults::take(&mut document)?;
    Ok((Some(document), defaults))
}

fn preset(
    files: &mut Files<'_>,
    environment: Environment<'_>,
) -> Result<Option<Document>, ConfigError> {
    let Some(name) = variable(environment, environment::DEPLOYMENT) else { return Ok(None) };
    let name = name.trim();
    let file = format!("{DEPLOYMENT_FOLDER}/{name}.yaml");
    if is_name(name) {
        if let Some(document) = files.in_dir(&file)? {
            return Ok(Some(document));
        }
        if let Some(document) = files.shipped(&file)? {
            return Ok(Some(document));
        }
    }
    let origin = environment::place(environment::DEPLOYMENT).whole();
    Err(files.unknown_option(DEPLOYMENT_FOLDER, name, origin))
}

/// The last choice of each group wins.
fn choose(layers: &[&Vec<Choice>], overrides: &[Override]) -> Vec<Choice> {
    let named = overrides.iter().filter_map(|one| match &one.action {
        Action::Choose { group, option } => {
            Some(Choice { group, option: option.clone(), origin: one.place.whole() })
        }
        Action::Set { .. } | Action::Reset { .. } => None,
    });
    let all: Vec<Choice> = layers.iter().copied().flatten().cloned().chain(named).collect();
    let last = |group| all.iter().rev().find(|choice| choice.group == group).cloned();
    GROUPS.into_iter().filter_map(last).collect()
}

/// The chosen files of the groups, as far as they are there.
fn groups(
    choices: &[Choice],
    mut find: impl FnMut(&str) -> Result<Option<Document>, ConfigError>,
) -> Result<Vec<(&'static str, Document)>, ConfigError> {
    let mut found = Vec::new();
    for choice in choices {
        if let Some(document) = find(&format!("{}/{}.yaml", choice.group, choice.option))? {
            found.push((choice.group, document));
        }
    }
    Ok(found)
}

/// Lays a root file and its groups over the tree, in the order of its defaults list.
fn lay(
    tree: &mut Tree,
    (root, defaults): &Root,
    groups: &[(&'static str, Document)],
) -> Result<(), ConfigError> {
    for item in &defaults.order {
        match item {
            Item::Own => {
                if let Some(root) = root {
                    tree.overlay(&root.root, &root.place)?;
                }
            }
            Item::Group(group) => {
                for (_, document) in groups.iter().filter(|(known, _)| known == group) {
                    check_group(document, group)?;
                    tree.overlay(&document.root, &document.place)?;
                }
            }
        }
    }
    Ok(())
}

/// A group's file says what it chooses; without that, an option would silently be the default.
fn check_group(document: &Document, group: &str) -> Result<(), ConfigError> {
    refuse_defaults(document)?;
    let mut probe = Tree::default();
    probe.overlay(&document.root, &document.place)?;
    let key = format!("{group}.kind");
    if probe.origins.get(&key).is_none() {
        return Err(Problem::BadValue { key, message: format!("a file in {group}/ must set it") }
            .at(document.place.at(document.root.position)));
    }
    Ok(())
}

fn refuse_defaults(document: &Document) -> Result<(), ConfigError> {
    let Value::Map(entries) = &document.root.value else { return Ok(()) };
    match entries.iter().find(|entry| entry.key == "defaults") {
        Some(entry) => Err(Problem::Defaults {
            message: "only config.yaml and the files in deployment/ have a defaults list"
                .to_owned(),
        }
        .at(document.place.at(entry.position))),
        None => Ok(()),
    }
}

fn load_topics(files: &mut Files<'_>, tree: &Tree) -> Result<Topics, ConfigError> {
    let configured = &tree.config.recording.topics_file;
    let is_default = *configured == Recording::default().topics_file;
    let path = beside(files.dir(), configured);
    let mut found = None;
    // A folder is used as a whole or not at all: with none named, the default does not pick up a
    // stray file from wherever the program was started.
    if !is_default || files.dir().is_some() {
        found = files.at(&path, TOPICS)?;
    }
    if found.is_none() && is_default {
        found = files.shipped(TOPICS)?;
    }
    let Some(document) = found else {
        let origin = tree.origins.get("recording.topics_file").cloned();
        let origin = origin.unwrap_or_else(|| Place::named("the default").whole());
        return Err(Problem::MissingFile { path }.at(origin));
    };
    Topics::read(&document)
}

/// The shipped types, with those of the folder in their place or beside them.
fn load_schemas(files: &mut Files<'_>) -> Result<MessageSchemas, ConfigError> {
    let mut schemas = MessageSchemas::default();
    for document in [files.shipped(SCHEMAS)?, files.in_dir(SCHEMAS)?].into_iter().flatten() {
        schemas.overlay(&document)?;
    }
    Ok(schemas)
}
