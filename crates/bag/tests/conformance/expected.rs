//! What a file of the conformance set must give, as the JSON beside it says.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::Value;

/// One message, in whatever form it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) channel_id: u16,
    pub(crate) topic: String,
    pub(crate) message_encoding: String,
    /// Name, encoding and text of the schema.
    pub(crate) schema: Option<(String, String, Vec<u8>)>,
    pub(crate) sequence: u32,
    pub(crate) log_time_ns: u64,
    pub(crate) publish_time_ns: u64,
    pub(crate) payload: Vec<u8>,
}

/// One file and everything that its JSON says of it.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) path: PathBuf,
    /// The folder and the file's name, for messages about it.
    pub(crate) name: String,
    /// The features its writer used, such as `ch` for chunks.
    pub(crate) features: Vec<String>,
    /// By log time; messages of the same time in file order.
    pub(crate) messages: Vec<Seen>,
    pub(crate) profile: String,
    pub(crate) library: String,
    pub(crate) n_attachments: u64,
    pub(crate) n_metadata: u64,
    /// The fields of the Statistics record, where there is one.
    pub(crate) statistics: Option<BTreeMap<String, Value>>,
}

impl Expected {
    pub(crate) fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|it| it == feature)
    }

    fn read(path: PathBuf) -> Self {
        let text = std::fs::read(path.with_extension("json")).unwrap();
        let json: Value = serde_json::from_slice(&text).unwrap();
        let mut schemas = BTreeMap::new();
        let mut channels = BTreeMap::new();
        let folder = path.parent().and_then(Path::file_name).unwrap().to_string_lossy();
        let mut expected = Self {
            name: format!("{folder}/{}", path.file_name().unwrap().to_string_lossy()),
            features: texts(&json["meta"]["variant"]["features"]),
            path,
            messages: Vec::new(),
            profile: String::new(),
            library: String::new(),
            n_attachments: 0,
            n_metadata: 0,
            statistics: None,
        };
        for record in json["records"].as_array().unwrap() {
            let pairs: Vec<(String, Value)> =
                serde_json::from_value(record["fields"].clone()).unwrap();
            let fields: BTreeMap<String, Value> = pairs.into_iter().collect();
            let text = |name: &str| fields[name].as_str().unwrap().to_owned();
            match record["type"].as_str().unwrap() {
                "Header" => {
                    (expected.profile, expected.library) = (text("profile"), text("library"));
                }
                "Schema" => {
                    let schema = (text("name"), text("encoding"), octets(&fields["data"]));
                    schemas.insert(text("id"), schema);
                }
                "Channel" => {
                    let schema = schemas.get(&text("schema_id")).cloned();
                    let channel = (text("topic"), text("message_encoding"), schema);
                    channels.insert(text("id"), channel);
                }
                "Message" => {
                    let (topic, message_encoding, schema) = channels[&text("channel_id")].clone();
                    expected.messages.push(Seen {
                        channel_id: text("channel_id").parse().unwrap(),
                        topic,
                        message_encoding,
                        schema,
                        sequence: text("sequence").parse().unwrap(),
                        log_time_ns: text("log_time").parse().unwrap(),
                        publish_time_ns: text("publish_time").parse().unwrap(),
                        payload: octets(&fields["data"]),
                    });
                }
                "Attachment" => expected.n_attachments += 1,
                "Metadata" => expected.n_metadata += 1,
                "Statistics" => expected.statistics = Some(fields),
                "DataEnd" | "Footer" | "SummaryOffset" | "ChunkIndex" | "AttachmentIndex"
                | "MetadataIndex" => {}
                other => panic!("{}: a record of unknown type {other}", expected.name),
            }
        }
        expected.messages.sort_by_key(|message| message.log_time_ns);
        expected
    }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

fn octets(list: &Value) -> Vec<u8> {
    texts(list).iter().map(|it| it.parse().unwrap()).collect()
}

/// All files of the set, which lies beside the project; none when it does not.
pub(crate) fn conformance_set() -> Vec<Expected> {
    let set =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/mcap-conformance");
    let Ok(folders) = std::fs::read_dir(&set) else {
        println!("skipped: no conformance set beside the project");
        return Vec::new();
    };
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "mcap"));
    paths.sort();
    paths.into_iter().map(Expected::read).collect()
}
