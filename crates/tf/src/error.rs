use ros2_memory_time::LogTime;

/// Why a buffer did not take a transform.
///
/// The buffer is unchanged but for its count of refusals.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// A rotation that is zero or not finite.
    #[error("rotation of {child} in {parent} is none: x {x}, y {y}, z {z}, w {w}")]
    Rotation {
        /// The parent frame.
        parent: String,
        /// The child frame.
        child: String,
        /// The i part as given.
        x: f64,
        /// The j part as given.
        y: f64,
        /// The k part as given.
        z: f64,
        /// The real part as given.
        w: f64,
    },
    /// A translation that is not finite, or longer on an axis than
    /// [`MAX_TRANSLATION_M`](crate::MAX_TRANSLATION_M).
    #[error("translation of {child} in {parent} is none: x {x}, y {y}, z {z}")]
    Translation {
        /// The parent frame.
        parent: String,
        /// The child frame.
        child: String,
        /// Along the parent's x, as given.
        x: f64,
        /// Along the parent's y, as given.
        y: f64,
        /// Along the parent's z, as given.
        z: f64,
    },
    /// A frame without a name, or named by a slash alone.
    #[error("empty frame name: parent {parent:?}, child {child:?}")]
    EmptyFrame {
        /// The parent frame.
        parent: String,
        /// The child frame.
        child: String,
    },
    /// A frame that is said to be its own parent.
    #[error("frame {frame} is its own parent")]
    SelfParent {
        /// The frame.
        frame: String,
    },
    /// More different names than the buffer can number.
    #[error("no room for another frame beside {known}")]
    TooManyFrames {
        /// How many the buffer holds.
        known: usize,
    },
}

/// Why a buffer cannot say where a frame was in another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// A frame that no accepted transform names.
    #[error("frame {frame:?} is unknown")]
    UnknownFrame {
        /// The frame as asked, without its leading slash.
        frame: String,
    },
    /// Two frames without a common ancestor.
    #[error(
        "frames {target} and {source} are not connected: one hangs below {target_root}, \
         the other below {source_root}"
    )]
    NotConnected {
        /// The target frame.
        target: String,
        /// The source frame.
        r#source: String,
        /// The topmost ancestor of the target that could be reached.
        target_root: String,
        /// The topmost ancestor of the source that could be reached.
        source_root: String,
    },
    /// No sample of an edge is near enough.
    #[error(
        "no transform from {child} to {parent} at {at}: known from {first} to {last}{}, at most \
         {max_extrapolation_ns} ns are bridged",
        gap(*before, *after)
    )]
    Extrapolation {
        /// The parent that the nearest sample gives.
        parent: String,
        /// The child frame.
        child: String,
        /// The moment asked.
        at: LogTime,
        /// The first sample of this edge.
        first: LogTime,
        /// The last sample of this edge.
        last: LogTime,
        /// The child's sample before the moment, when there is one and it is of this edge.
        before: Option<LogTime>,
        /// The child's sample after the moment, when there is one and it is of this edge.
        after: Option<LogTime>,
        /// How far from a sample the buffer would have answered.
        max_extrapolation_ns: u64,
    },
    /// The samples around the moment give a frame different parents.
    #[error("frame {child} changes its parent from {before_parent} to {after_parent} around {at}")]
    Reparented {
        /// The child frame.
        child: String,
        /// The parent in the sample before.
        before_parent: String,
        /// The parent in the sample after.
        after_parent: String,
        /// The moment asked.
        at: LogTime,
    },
    /// A frame that is its own ancestor.
    #[error("frame {frame} is its own ancestor")]
    Loop {
        /// The frame where the loop closes.
        frame: String,
    },
    /// More ancestors than [`MAX_DEPTH`](crate::MAX_DEPTH).
    #[error("frame {frame} has more than {limit} ancestors")]
    TooDeep {
        /// The frame that the walk began at.
        frame: String,
        /// The most ancestors that are walked.
        limit: usize,
    },
}

fn gap(before: Option<LogTime>, after: Option<LogTime>) -> String {
    match (before, after) {
        (Some(before), Some(after)) => format!(" but for {before} to {after}"),
        _ => String::new(),
    }
}
