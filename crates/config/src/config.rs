//! The resolved settings: plain structs, every field filled. The shipped `config.yaml` shows the
//! same keys with the same defaults, and a test holds the two together.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
};

use crate::section::{choice, section};

section! {
    /// Every setting of the program, all fields filled and checked.
    pub struct Config {
        /// What is recorded, and where.
        pub recording: Recording = Recording::default(),
        /// How questions are answered.
        pub data: Data = Data::default(),
        /// How bags are found and read.
        pub reader: Reader = Reader::default(),
        /// Where derived data is kept.
        pub catalog: Catalog = Catalog::default(),
        /// How the memory is served.
        pub server: Server = Server::default(),
        /// What is deleted, and when.
        pub retention: Retention = Retention::default(),
        /// What the recorder writes; the group `storage`.
        pub storage: Storage = Storage::default(),
        /// Who records; the group `recorder`.
        pub recorder: Recorder = Recorder::default(),
    }
}

section! {
    /// `recording`: what is recorded, and where.
    pub struct Recording {
        /// The directory of the bags.
        pub bag_dir: PathBuf = PathBuf::from("data/bags"),
        /// Length of one bag in seconds, above 0.
        pub split_duration_s: f64 = 10.0,
        /// Whether the recorder removes the bags it recognises when it starts.
        pub clear_on_startup: bool = false,
        /// The list of recorded topics, as written; [`Loaded::topics`](crate::Loaded::topics) is
        /// its content.
        pub topics_file: PathBuf = PathBuf::from("config/topics.yaml"),
    }
}

section! {
    /// `data`: how questions are answered.
    pub struct Data {
        /// Longer arrays are downsampled with a note; at least 1.
        pub max_array_length: usize = 50,
        /// Distance in metres within which `near_position` matches.
        pub position_tolerance_m: f64 = 0.5,
        /// How many seconds before the time asked a message may lie.
        pub time_tolerance_s: f64 = 0.1,
        /// The same in seconds for single topics or globs, in the order written.
        pub time_tolerance_per_topic_s: Vec<(String, f64)> = Vec::new(),
        /// What `seconds_ago` counts from.
        pub now: Now = Now::Wall,
        /// Steps of a trajectory shorter than this, in metres, count as no distance.
        pub jitter_m: f64 = 0.0,
        /// Steps of a trajectory faster than this, in metres a second, count as no distance.
        pub max_speed_mps: f64 = 20.0,
        /// Transforms are interpolated between samples at most this many seconds apart.
        pub max_transform_gap_s: f64 = 1.0,
        /// Transforms are extrapolated at most this many seconds.
        pub max_extrapolation_s: f64 = 0.5,
        /// Which topics give pose, velocity and transforms.
        pub roles: Roles = Roles::default(),
    }
}

section! {
    /// `data.roles`: which topics give what the semantic tools answer.
    pub struct Roles {
        /// Positions, and the trajectory.
        pub pose: Role = Role::Auto,
        /// Velocities.
        pub velocity: Role = Role::Auto,
        /// Transforms.
        pub transforms: Role = Role::Auto,
    }
}

/// Which topics play one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// The only topic of a fitting type, else `/odom`, else the first by name.
    Auto,
    /// These topics, the first that has data first.
    Topics(Vec<String>),
}

section! {
    /// `reader`: how bags are found and read.
    pub struct Reader {
        /// Seconds between two looks at the bag directory, above 0.
        pub index_refresh_s: f64 = 5.0,
        /// Directories of `.msg` files, for bags that hold no definitions.
        pub custom_msg_paths: Vec<PathBuf> = Vec::new(),
        /// What is answered from the bag that is being written.
        pub active: ActiveBag = ActiveBag::Tail,
        /// How large closed bags are read.
        pub mapping: Mapping = Mapping::Mmap,
        /// When checksums are verified.
        pub verify: Verify = Verify::Once,
        /// The largest chunk, in units of 10^6 bytes inflated, that is accepted; at least 1.
        pub max_chunk_mb: u32 = 256,
        /// A recording that is compressed as a whole and inflates to more is refused.
        pub max_inflated_file_mb: u32 = 16_000,
    }
}

section! {
    /// `catalog`: where derived data is kept.
    pub struct Catalog {
        /// The catalog's directory. `None`: `<bag_dir>/.ros2-memory`, or the user's cache folder
        /// when that is read-only.
        pub dir: Option<PathBuf> = None,
    }
}

section! {
    /// `server`: how the memory is served.
    pub struct Server {
        /// Standard input and output, or HTTP.
        pub transport: Transport = Transport::Stdio,
        /// The address that HTTP listens on.
        pub host: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST),
        /// The port that HTTP listens on, above 0.
        pub port: u16 = 9203,
        /// Seconds after which a query stops and says how far it came, above 0.
        pub time_limit_s: f64 = 25.0,
        /// A longer reply, in bytes, is thinned.
        pub reply_bytes: usize = 20_000,
        /// How many HTTP sessions may be open at once; at least 1.
        pub max_sessions: usize = 64,
        /// Host names that a request may be addressed to; others get 403.
        pub allowed_hosts: Vec<String> =
            ["127.0.0.1", "::1", "localhost"].map(str::to_owned).to_vec(),
    }
}

section! {
    /// `retention`: what is deleted, and when.
    pub struct Retention {
        /// Whether anything is deleted at all.
        pub enabled: bool = true,
        /// Oldest bags go once all together are larger; units of 10^9 bytes, above 0.
        pub max_total_gb: f64 = 5.0,
        /// Bags older than this many hours go; above 0.
        pub max_age_h: f64 = 168.0,
        /// Oldest bags go once less is free on the disk; units of 10^9 bytes.
        pub min_free_gb: f64 = 1.0,
        /// How many days the catalog remembers what was seen in a deleted bag.
        pub keep_index_days: u32 = 90,
    }
}

section! {
    /// `storage`: what the recorder writes. Readers detect the format by content.
    pub struct Storage {
        /// The format.
        pub kind: StorageKind = StorageKind::Mcap,
    }
}

section! {
    /// `recorder`: who records.
    pub struct Recorder {
        /// The adapter.
        pub kind: RecorderKind = RecorderKind::Ros2bag,
    }
}

choice! {
    /// What `seconds_ago` counts from.
    pub enum Now {
        /// The wall clock.
        Wall = "wall",
        /// The newest recorded time; messages dated in the future never move it.
        Latest = "latest",
    }
}

choice! {
    /// What is answered from the bag that is being written.
    pub enum ActiveBag {
        /// Its complete data.
        Tail = "tail",
        /// Nothing until it is closed.
        Exclude = "exclude",
    }
}

choice! {
    /// How large closed bags are read.
    pub enum Mapping {
        /// Mapped into memory.
        Mmap = "mmap",
        /// Read, for disks where a file may shrink while it is open.
        Read = "read",
    }
}

choice! {
    /// When checksums are verified.
    pub enum Verify {
        /// When a bag is indexed, and again when it changed.
        Once = "once",
        /// On every read.
        Always = "always",
    }
}

choice! {
    /// How the server is reached.
    pub enum Transport {
        /// Standard input and output of the process.
        Stdio = "stdio",
        /// One port with MCP (streamable HTTP and the older SSE pair) and the REST interface.
        Http = "http" | "sse",
    }
}

choice! {
    /// What the recorder writes.
    pub enum StorageKind {
        /// MCAP files.
        Mcap = "mcap",
        /// rosbag2 directories with sqlite3 files.
        Rosbag2 = "rosbag2",
    }
}

choice! {
    /// Who records.
    pub enum RecorderKind {
        /// A `ros2 bag record` process.
        Ros2bag = "ros2bag",
        /// Nobody: questions are answered from bags made elsewhere.
        None = "none",
    }
}
