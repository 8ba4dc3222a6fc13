//! The configuration in the settings that each crate defines for itself.

use std::{sync::Arc, time::Duration};

use ros2_memory_bag::ReadOptions;
use ros2_memory_catalog::Settings as CatalogSettings;
use ros2_memory_index::{DriveRules, IndexedPaths};
use ros2_memory_msg::{FieldPath, Library};
use ros2_memory_query::{
    Now as QueryNow, Role as QueryRole, Roles as QueryRoles, SchemaMap, Settings as QuerySettings,
    TypePaths,
};

use crate::{ActiveBag, Loaded, Mapping, Now, Role, Verify};

impl Loaded {
    /// How bags are read.
    pub fn read_options(&self) -> ReadOptions {
        let reader = &self.config.reader;
        ReadOptions {
            mapping: reader.mapping == Mapping::Mmap,
            max_chunk_bytes: u64::from(reader.max_chunk_mb) * 1_000_000,
            max_inflated_file_bytes: u64::from(reader.max_inflated_file_mb) * 1_000_000,
            verify_always: reader.verify == Verify::Always,
        }
    }

    /// Where the bags are and how they are looked after.
    pub fn catalog_settings(&self, library: Arc<Library>) -> CatalogSettings {
        CatalogSettings {
            bag_dir: self.config.recording.bag_dir.clone(),
            catalog_dir: self.config.catalog.dir.clone(),
            refresh: Duration::from_nanos(ns(self.config.reader.index_refresh_s)),
            watch: true,
            read: self.read_options(),
            include_active: self.config.reader.active == ActiveBag::Tail,
            library,
            indexed: Arc::new(self.schema_map().indexed(DriveRules {
                jitter_m: self.config.data.jitter_m,
                max_speed_mps: self.config.data.max_speed_mps,
            })),
        }
    }

    /// How questions are answered.
    pub fn query_settings(&self) -> QuerySettings {
        let data = &self.config.data;
        QuerySettings {
            max_array_length: data.max_array_length,
            position_tolerance_m: data.position_tolerance_m,
            time_tolerance_ns: ns(data.time_tolerance_s),
            time_tolerance_per_topic_ns: data
                .time_tolerance_per_topic_s
                .iter()
                .map(|(topic, seconds)| (topic.clone(), ns(*seconds)))
                .collect(),
            now: match data.now {
                Now::Wall => QueryNow::Wall,
                Now::Latest => QueryNow::Latest,
            },
            jitter_m: data.jitter_m,
            max_speed_mps: data.max_speed_mps,
            max_transform_gap_ns: ns(data.max_transform_gap_s),
            max_extrapolation_ns: ns(data.max_extrapolation_s),
            roles: QueryRoles {
                pose: role(&data.roles.pose),
                velocity: role(&data.roles.velocity),
                transforms: role(&data.roles.transforms),
            },
            time_limit: Duration::from_nanos(ns(self.config.server.time_limit_s)),
            reply_bytes: self.config.server.reply_bytes,
        }
    }

    /// Which fields of each message type a reply shows, and what they mean.
    pub fn schema_map(&self) -> SchemaMap {
        let mut map = SchemaMap::default();
        // Paths were checked when the file was read.
        let path = |text: &str| text.parse::<FieldPath>().ok();
        let paths = |texts: &[String]| texts.iter().filter_map(|text| path(text)).collect();
        for schema in self.schemas.types() {
            let fields = schema.fields.iter();
            map.insert(
                &schema.type_name,
                TypePaths {
                    fields: fields
                        .filter_map(|(name, text)| Some((name.clone(), path(text)?)))
                        .collect(),
                    index: IndexedPaths {
                        labels: paths(&schema.index.labels),
                        text: paths(&schema.index.text),
                        numbers: paths(&schema.index.numbers),
                        position: schema.index.position.as_deref().and_then(path),
                    },
                },
            );
        }
        map
    }
}

fn role(role: &Role) -> QueryRole {
    match role {
        Role::Auto => QueryRole::Auto,
        Role::Topics(topics) => QueryRole::Topics(topics.clone()),
    }
}

/// Seconds as nanoseconds. The configuration keeps every span between 0 and 10^9 s.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 10^18, as said above"
)]
fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}
