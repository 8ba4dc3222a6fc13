use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use ros2_memory_bag::{Channel, Declarations};
use ros2_memory_msg::{FieldPath, Library, Plan, Schema, TypeSource, canonical_type_name};

use crate::{SchemaMap, answers::motion::FieldPlan};

/// What is needed to read the messages of one channel.
#[derive(Debug)]
pub struct TypeView {
    /// `package/msg/Type`; empty when the file does not say.
    pub type_name: Arc<str>,
    /// The type, or why its messages cannot be read.
    pub schema: Result<Arc<Schema>, String>,
    /// The fields of a reply; `None` when the whole message is shown.
    pub(crate) shown: Option<Shown>,
    /// Where its pose and its velocity are, once that was asked for.
    pub(crate) motion: [OnceLock<Result<FieldPlan, String>>; 2],
}

/// The configured fields of a type, as far as the type has them.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) plan: Plan,
    /// In the order of the plan's numbers.
    pub(crate) fields: Vec<(String, FieldPath)>,
    /// Configured fields that this definition of the type does not have.
    pub(crate) missing: Vec<String>,
}

/// The types of all channels, each compiled once.
#[derive(Debug)]
pub struct TypeCache {
    library: Arc<Library>,
    map: SchemaMap,
    views: Mutex<HashMap<Key, Arc<TypeView>>>,
}

/// What a view depends on: type name, schema encoding, message encoding and text.
type Key = (Arc<str>, Arc<str>, Arc<str>, Arc<[u8]>);

/// Definitions past this number are compiled each time: a bag with that many is no robot's.
const MAX_VIEWS: usize = 20_000;

impl TypeCache {
    /// A cache that shows types as `map` says and takes definitions which a file lacks from
    /// `library`.
    pub fn new(library: Arc<Library>, map: SchemaMap) -> Self {
        Self { library, map, views: Mutex::default() }
    }

    /// What the configuration says of the types.
    pub fn map(&self) -> &SchemaMap {
        &self.map
    }

    /// The definitions that serve files which have none.
    pub fn library(&self) -> &Arc<Library> {
        &self.library
    }

    /// How to read the messages of a channel.
    pub fn view(&self, declared: &Declarations, channel: &Channel) -> Arc<TypeView> {
        let schema = declared.schema(channel);
        let key: Key = schema.map_or_else(
            || (Arc::from(""), Arc::from(""), channel.message_encoding.clone(), Arc::default()),
            |schema| {
                let encodings = (schema.encoding.clone(), channel.message_encoding.clone());
                (schema.name.clone(), encodings.0, encodings.1, schema.text.clone())
            },
        );
        let views = || self.views.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(view) = views().get(&key) {
            return view.clone();
        }
        // Compiled outside the lock: a large definition must not hold up other queries.
        let view = Arc::new(self.compile(&key));
        let mut views = views();
        if views.len() < MAX_VIEWS {
            views.insert(key, view.clone());
        }
        view
    }

    fn compile(&self, (name, schema_encoding, message_encoding, text): &Key) -> TypeView {
        let type_name: Arc<str> = canonical_type_name(name).into();
        let source = TypeSource { type_name: name, schema_encoding, message_encoding, text };
        let schema = Schema::for_channel(&source, &self.library).map(Arc::new);
        let schema = schema.map_err(|error| error.to_string());
        let paths = self.map.get(&type_name).filter(|paths| !paths.fields.is_empty());
        let shown = match (&schema, paths) {
            (Ok(schema), Some(paths)) => shown(schema, &paths.fields),
            _ => None,
        };
        TypeView { type_name, schema, shown, motion: Default::default() }
    }
}

fn shown(schema: &Arc<Schema>, configured: &[(String, FieldPath)]) -> Option<Shown> {
    let (fields, missing): (Vec<_>, Vec<_>) = configured
        .iter()
        .cloned()
        .partition(|(_, path)| Plan::compile(schema.clone(), std::slice::from_ref(path)).is_ok());
    let paths: Vec<FieldPath> = fields.iter().map(|(_, path)| path.clone()).collect();
    let plan = Plan::compile(schema.clone(), &paths).ok().filter(|_| !paths.is_empty())?;
    Some(Shown { plan, fields, missing: missing.into_iter().map(|(name, _)| name).collect() })
}
