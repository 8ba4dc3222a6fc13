use std::time::Duration;

/// How questions are answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Longer arrays are thinned in replies.
    pub max_array_length: usize,
    /// How near is near.
    pub position_tolerance_m: f64,
    /// How long before the moment asked a message may lie.
    pub time_tolerance_ns: u64,
    /// The same for some topics, by name or glob; the first that fits counts.
    pub time_tolerance_per_topic_ns: Vec<(String, u64)>,
    /// What `seconds_ago` counts from.
    pub now: Now,
    /// Shorter steps count as no distance.
    pub jitter_m: f64,
    /// Faster steps are jumps, and count as no distance.
    pub max_speed_mps: f64,
    /// Transforms are interpolated between samples at most this far apart.
    pub max_transform_gap_ns: u64,
    /// Transforms are extrapolated at most this far.
    pub max_extrapolation_ns: u64,
    /// Which topics give pose, velocity and transforms.
    pub roles: Roles,
    /// When a call gives up.
    pub time_limit: Duration,
    /// How long a reply may be.
    pub reply_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_array_length: 50,
            position_tolerance_m: 0.5,
            time_tolerance_ns: 100_000_000,
            time_tolerance_per_topic_ns: Vec::new(),
            now: Now::Wall,
            jitter_m: 0.0,
            max_speed_mps: 20.0,
            max_transform_gap_ns: 1_000_000_000,
            max_extrapolation_ns: 500_000_000,
            roles: Roles::default(),
            time_limit: Duration::from_secs(25),
            reply_bytes: 20_000,
        }
    }
}

/// What `seconds_ago` counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Now {
    /// The wall clock.
    Wall,
    /// The newest recorded time; messages dated in the future never move it.
    Latest,
}

/// Which topics play which part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roles {
    /// Where the robot is.
    pub pose: Role,
    /// How fast it moves.
    pub velocity: Role,
    /// Where its frames are.
    pub transforms: Role,
}

/// The topics that play one part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Role {
    /// The only topic of a fitting type, else `/odom`, else the first by name.
    #[default]
    Auto,
    /// These, the first that is recorded.
    Topics(Vec<String>),
}
