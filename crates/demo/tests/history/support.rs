//! An independent reader of little-endian CDR, and what the tests share.

use ros2_memory_demo::{History, Options, Record};
use ros2_memory_time::LogTime;

pub(crate) const START_NS: u64 = 1_796_000_000_000_000_000;

pub(crate) fn history(seed: u64, duration_s: u64) -> History {
    History::new(Options::new(seed, LogTime::from_ns(START_NS), duration_s)).unwrap()
}

pub(crate) fn all_records(history: &History) -> Vec<Record> {
    (0..history.n_splits()).flat_map(|split| history.split(split)).collect()
}

/// Reads fields in order; panics on a payload that is too short.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(payload: &'a [u8]) -> Self {
        assert_eq!(payload[..4], [0, 1, 0, 0]);
        Self { bytes: &payload[4..], at: 0 }
    }

    fn take(&mut self, width: usize, align: usize) -> &'a [u8] {
        let start = self.at.div_ceil(align) * align;
        assert!(self.bytes[self.at..start].iter().all(|byte| *byte == 0), "padding at {}", self.at);
        self.at = start + width;
        &self.bytes[start..self.at]
    }

    pub(crate) fn u8(&mut self) -> u8 {
        self.take(1, 1)[0]
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4, 4).try_into().unwrap())
    }

    pub(crate) fn i32(&mut self) -> i32 {
        i32::from_le_bytes(self.take(4, 4).try_into().unwrap())
    }

    pub(crate) fn f32(&mut self) -> f32 {
        f32::from_le_bytes(self.take(4, 4).try_into().unwrap())
    }

    pub(crate) fn f64(&mut self) -> f64 {
        f64::from_le_bytes(self.take(8, 8).try_into().unwrap())
    }

    pub(crate) fn string(&mut self) -> &'a str {
        let length = self.u32() as usize;
        let (zero, text) = self.take(length, 1).split_last().unwrap();
        assert_eq!(*zero, 0);
        std::str::from_utf8(text).unwrap()
    }

    /// The header stamp in nanoseconds, and the frame.
    pub(crate) fn header(&mut self) -> (u64, &'a str) {
        let seconds = u64::try_from(self.i32()).unwrap();
        let stamp_ns = seconds * 1_000_000_000 + u64::from(self.u32());
        (stamp_ns, self.string())
    }

    pub(crate) fn finish(self) {
        assert_eq!(self.at, self.bytes.len());
    }
}

/// What the tests need of an odometry message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Odometry {
    pub(crate) stamp_ns: u64,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) yaw: f64,
    pub(crate) forward: f64,
    pub(crate) turn: f64,
}

pub(crate) fn odometry(payload: &[u8]) -> Odometry {
    let mut reader = Reader::new(payload);
    let (stamp_ns, frame) = reader.header();
    assert_eq!((frame, reader.string()), ("odom", "base_link"));
    let [x, y, z, qx, qy, qz, qw] = [(); 7].map(|()| reader.f64());
    let pose_covariance = [(); 36].map(|()| reader.f64());
    let [forward, vy, vz, wx, wy, turn] = [(); 6].map(|()| reader.f64());
    let twist_covariance = [(); 36].map(|()| reader.f64());
    reader.finish();
    assert!([z, qx, qy, vy, vz, wx, wy].iter().all(|zero| zero.abs() < f64::EPSILON));
    assert!((qz * qz + qw * qw - 1.0).abs() < 1e-12);
    for covariance in [pose_covariance, twist_covariance] {
        for (place, value) in covariance.iter().enumerate() {
            assert_eq!(*value > 0.0, place % 7 == 0, "{place}");
        }
    }
    Odometry { stamp_ns, x, y, yaw: 2.0 * qz.atan2(qw), forward, turn }
}

/// One detection: label, score, box, point, whether it has one, track.
pub(crate) type Detection = (String, f32, [i32; 4], [f64; 3], bool, String);

pub(crate) fn detections(payload: &[u8]) -> (u64, Vec<Detection>) {
    let mut reader = Reader::new(payload);
    let (stamp_ns, frame) = reader.header();
    assert_eq!((frame, reader.string()), ("camera_link", "find_object"));
    let found = (0..reader.u32())
        .map(|_| {
            (
                reader.string().to_owned(),
                reader.f32(),
                [(); 4].map(|()| reader.i32()),
                [(); 3].map(|()| reader.f64()),
                reader.u8() == 1,
                reader.string().to_owned(),
            )
        })
        .collect();
    reader.finish();
    (stamp_ns, found)
}

/// The `data` of a `StampedString`.
pub(crate) fn text(payload: &[u8]) -> &str {
    let mut reader = Reader::new(payload);
    reader.header();
    let text = reader.string();
    reader.finish();
    text
}

/// The only transform of a message: stamp, parent, child, translation and rotation.
pub(crate) fn transform(payload: &[u8]) -> (u64, &str, &str, [f64; 7]) {
    let mut reader = Reader::new(payload);
    assert_eq!(reader.u32(), 1);
    let (stamp_ns, parent) = reader.header();
    let child = reader.string();
    let values = [(); 7].map(|()| reader.f64());
    reader.finish();
    (stamp_ns, parent, child, values)
}
