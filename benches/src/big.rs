//! One large bag: an IMU at 400 Hz and a lidar at 10 Hz.

use std::path::{Path, PathBuf};

use ros2_memory_bag::{Compression, FileWriter, WriteOptions, WrittenChannel};
use ros2_memory_time::LogTime;

use crate::{Outcome, START_NS};

/// Points of a scan, 16 bytes each.
const POINTS: u32 = 32_768;
const SCANS: u64 = 300;
const IMU_A_SCAN: u64 = 40;
const CHUNK_BYTES: u64 = 768 << 10;

const IMU: &str = "\
std_msgs/Header header
geometry_msgs/Quaternion orientation
float64[9] orientation_covariance
geometry_msgs/Vector3 angular_velocity
float64[9] angular_velocity_covariance
geometry_msgs/Vector3 linear_acceleration
float64[9] linear_acceleration_covariance
";
const CLOUD: &str = "\
std_msgs/Header header
uint32 height
uint32 width
PointField[] fields
bool is_bigendian
uint32 point_step
uint32 row_step
uint8[] data
bool is_dense
";
const HEADER: (&str, &str) =
    ("std_msgs/Header", "builtin_interfaces/Time stamp\nstring frame_id\n");
const TIME: (&str, &str) = ("builtin_interfaces/Time", "int32 sec\nuint32 nanosec\n");
const QUATERNION: (&str, &str) =
    ("geometry_msgs/Quaternion", "float64 x\nfloat64 y\nfloat64 z\nfloat64 w\n");
const VECTOR: (&str, &str) = ("geometry_msgs/Vector3", "float64 x\nfloat64 y\nfloat64 z\n");
const FIELD: (&str, &str) =
    ("sensor_msgs/PointField", "string name\nuint32 offset\nuint8 datatype\nuint32 count\n");

/// The file of 30 s, about 160 MB uncompressed, in a folder; written when it is not there yet.
///
/// # Errors
///
/// When it cannot be written.
pub fn big_bag(folder: &Path, compression: Compression) -> Outcome<PathBuf> {
    let path = folder.join(format!("big_{}.mcap", compression.as_str()));
    if path.is_file() {
        return Ok(path);
    }
    std::fs::create_dir_all(folder)?;
    let channel = |topic: &str, type_name: &str, own: &str, others: &[(&str, &str)]| {
        let bar = "=".repeat(80);
        let others = others.iter().map(|(name, text)| format!("{bar}\nMSG: {name}\n{text}"));
        WrittenChannel {
            topic: topic.to_owned(),
            type_name: type_name.to_owned(),
            definition: format!("{own}{}", others.collect::<String>()),
            is_latched: false,
        }
    };
    let channels = [
        channel("/imu/data", "sensor_msgs/msg/Imu", IMU, &[HEADER, TIME, QUATERNION, VECTOR]),
        channel("/points", "sensor_msgs/msg/PointCloud2", CLOUD, &[HEADER, TIME, FIELD]),
    ];
    let options = WriteOptions { compression, chunk_bytes: CHUNK_BYTES };
    let mut file = FileWriter::create(&path, &channels, &options)?;
    let mut noise = 1u32;
    for tick in 0..SCANS * IMU_A_SCAN {
        let at = LogTime::from_ns(START_NS + tick * 2_500_000);
        let sequence = u32::try_from(tick)?;
        file.write(0, at, at, sequence, &imu(sequence, &mut noise))?;
        if tick.is_multiple_of(IMU_A_SCAN) {
            let at = at.saturating_add_ns(1000);
            file.write(1, at, at, sequence, &cloud(&mut noise))?;
        }
    }
    file.finish()?;
    Ok(path)
}

/// Noise of which Zstandard finds little.
fn next(noise: &mut u32) -> u32 {
    *noise ^= *noise << 13;
    *noise ^= *noise >> 17;
    *noise ^= *noise << 5;
    *noise
}

fn imu(tick: u32, noise: &mut u32) -> Vec<u8> {
    let mut out = Cdr::new("imu_link");
    let mut put = |n: usize, number: f64| (0..n).for_each(|_| out.f64(number));
    put(4, 0.5);
    put(9, 1e-4);
    put(3, f64::from(tick) * 1e-6);
    put(9, 1e-5);
    put(3, 9.81 + f64::from(next(noise)) * 1e-11);
    put(9, 1e-3);
    out.0
}

fn cloud(noise: &mut u32) -> Vec<u8> {
    let mut out = Cdr::new("laser_link");
    for number in [1, POINTS, 4] {
        out.u32(number);
    }
    for (offset, name) in (0..).step_by(4).zip(["x", "y", "z", "intensity"]) {
        out.text(name);
        out.u32(offset);
        out.0.push(7);
        out.u32(1);
    }
    out.0.push(0);
    for number in [16, 16 * POINTS, 16 * POINTS] {
        out.u32(number);
    }
    for point in 0..POINTS {
        let distance = 3_000 + (point % 997) + (next(noise) & 31);
        for number in [distance, point % 32, distance / 2, 200] {
            out.0.extend(number.to_le_bytes());
        }
    }
    out.0.push(1);
    out.0
}

/// A payload, little-endian, that starts with a header.
struct Cdr(Vec<u8>);

impl Cdr {
    fn new(frame: &str) -> Self {
        let mut out = Self(vec![0, 1, 0, 0]);
        out.u32(1);
        out.u32(2);
        out.text(frame);
        out
    }

    /// Alignment counts from behind the encapsulation header.
    fn align(&mut self, size: usize) {
        let len = (self.0.len() - 4).next_multiple_of(size) + 4;
        self.0.resize(len, 0);
    }

    fn u32(&mut self, number: u32) {
        self.align(4);
        self.0.extend(number.to_le_bytes());
    }

    fn f64(&mut self, number: f64) {
        self.align(8);
        self.0.extend(number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.u32(u32::try_from(text.len() + 1).unwrap_or(u32::MAX));
        self.0.extend(text.bytes().chain([0]));
    }
}
