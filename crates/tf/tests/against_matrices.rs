//! Compares look-ups in random trees, and angles of random rotations, with 4x4 matrices.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "helpers of tests")]

mod oracle;

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use oracle::{Matrix, Rng, errors, interpolate, inverse, matrix, product, roll_pitch_yaw};
use ros2_memory_tf::{Buffer, Limits, LookupError, Quaternion, Run, Transform};
use ros2_memory_time::LogTime;

const SEED: u64 = 20_261_130;
const TREES: usize = 200;
const START_NS: u64 = 1_796_039_506_161_000_001;
const MS: u64 = 1_000_000;
const TOLERANCE: f64 = 1e-9;

struct Tree {
    /// Frame `i + 1` hangs below `edges[i].parent`, a frame before it; frame 0 is the root.
    edges: Vec<Edge>,
}

struct Edge {
    parent: usize,
    /// In order of time; a single one without a stamp is static.
    samples: Vec<Sample>,
}

struct Sample {
    stamp_ns: Option<u64>,
    run: u32,
    translation: [f64; 3],
    quaternion: [f64; 4],
}

impl Sample {
    fn matrix(&self) -> Matrix {
        matrix(self.translation, self.quaternion)
    }
}

impl Tree {
    fn random(rng: &mut Rng) -> Self {
        let frames = rng.between(2, 30);
        let edges = (1..frames).map(|frame| {
            let parent = usize::try_from(rng.between(0, frame - 1)).unwrap();
            let samples =
                if rng.one_in(2) { vec![random_sample(rng, None, 0)] } else { random_motion(rng) };
            Edge { parent, samples }
        });
        Self { edges: edges.collect() }
    }

    /// Inserts everything, samples of all edges in a random order.
    fn buffer(&self, rng: &mut Rng) -> Buffer {
        let edges = (1..).zip(&self.edges);
        let mut all: Vec<_> = edges
            .flat_map(|(child, edge)| edge.samples.iter().map(move |s| (child, edge.parent, s)))
            .collect();
        for last in (1..all.len()).rev() {
            all.swap(last, rng.index(last + 1));
        }
        let mut buffer = Buffer::new(Limits::default());
        for (child, parent, sample) in all {
            let [x, y, z, w] = sample.quaternion;
            let transform = Transform {
                translation_m: sample.translation,
                rotation: Quaternion { x, y, z, w },
            };
            let (parent, child) = (name(parent), name(child));
            match sample.stamp_ns {
                None => buffer.insert_static(&parent, &child, transform).unwrap(),
                Some(ns) => buffer
                    .insert(&parent, &child, LogTime::from_ns(ns), Run(sample.run), transform)
                    .unwrap(),
            }
        }
        buffer
    }

    /// What the rules say, by the longest way round; `None` when an edge is out of reach.
    fn target_from_source(&self, target: usize, source: usize, at_ns: u64) -> Option<Matrix> {
        let (from_target, from_source) = (self.to_root(target), self.to_root(source));
        // Edges that both ways to the root share are on neither way between the two frames.
        let own = |edges: &[usize], others: &[usize]| {
            let kept = edges.iter().filter(|edge| !others.contains(edge)).copied();
            kept.collect::<Vec<_>>()
        };
        let chained = |edges: Vec<usize>| {
            edges.into_iter().try_fold(matrix([0.0; 3], [0.0, 0.0, 0.0, 1.0]), |below, edge| {
                Some(product(&self.edges[edge].at(at_ns)?, &below))
            })
        };
        let common_from_target = chained(own(&from_target, &from_source))?;
        let common_from_source = chained(own(&from_source, &from_target))?;
        Some(product(&inverse(&common_from_target), &common_from_source))
    }

    fn to_root(&self, mut frame: usize) -> Vec<usize> {
        let mut edges = Vec::new();
        while frame > 0 {
            edges.push(frame - 1);
            frame = self.edges[frame - 1].parent;
        }
        edges
    }
}

impl Edge {
    fn at(&self, at_ns: u64) -> Option<Matrix> {
        let stamp = |sample: &Sample| sample.stamp_ns.unwrap_or(at_ns);
        for pair in self.samples.windows(2) {
            let (first, second) = (stamp(&pair[0]), stamp(&pair[1]));
            let together = pair[0].run == pair[1].run && second - first <= 1_000 * MS;
            if together && (first..=second).contains(&at_ns) {
                #[expect(clippy::cast_precision_loss, reason = "at most a second")]
                let fraction = (at_ns - first) as f64 / (second - first) as f64;
                return Some(interpolate(&pair[0].matrix(), &pair[1].matrix(), fraction));
            }
        }
        let nearest = self.samples.iter().min_by_key(|sample| stamp(sample).abs_diff(at_ns))?;
        (stamp(nearest).abs_diff(at_ns) <= 500 * MS).then(|| nearest.matrix())
    }
}

fn name(frame: usize) -> String {
    format!("frame_{frame}")
}

fn random_sample(rng: &mut Rng, stamp_ns: Option<u64>, run: u32) -> Sample {
    let translation = [(); 3].map(|()| rng.real(-20.0, 20.0));
    Sample { stamp_ns, run, translation, quaternion: rng.quaternion() }
}

/// Six to twenty seconds: smooth turning, standing still, jumps, gaps and changes of run.
fn random_motion(rng: &mut Rng) -> Vec<Sample> {
    let first_ns = START_NS + rng.between(0, 300 * MS);
    let mut samples = vec![random_sample(rng, Some(first_ns), 0)];
    let turn = [(); 3].map(|()| rng.real(-0.4, 0.4));
    for _ in 0..rng.between(20, 60) {
        let last = samples.last().unwrap();
        let mut run = last.run;
        let mut step_ns = rng.between(20 * MS, 600 * MS);
        match rng.between(1, 20) {
            1 => step_ns = rng.between(1_001 * MS, 2_500 * MS),
            2 => run += 1,
            3 => step_ns = rng.between(1, 1_000),
            _ => {}
        }
        let stamp_ns = last.stamp_ns.map(|ns| ns + step_ns);
        let mut next = random_sample(rng, stamp_ns, run);
        if !rng.one_in(4) {
            next.translation = last.translation.map(|v| v + rng.real(-0.5, 0.5));
            let scale = rng.real(0.5, 2.0) * if rng.one_in(2) { -1.0 } else { 1.0 };
            let step = if rng.one_in(5) { 1e-9 } else { 1.0 };
            next.quaternion = turned(last.quaternion, turn.map(|v| v * step)).map(|v| v * scale);
        }
        if !nearly_opposite(last, &next) {
            samples.push(next);
        }
    }
    samples
}

/// A small turn, to first order; the length changes with it, which is as wanted.
fn turned([x, y, z, w]: [f64; 4], [about_x, about_y, about_z]: [f64; 3]) -> [f64; 4] {
    [
        x + w * about_x + y * about_z - z * about_y,
        y + w * about_y + z * about_x - x * about_z,
        z + w * about_z + x * about_y - y * about_x,
        w - x * about_x - y * about_y - z * about_z,
    ]
}

/// Half a turn apart there are two shortest ways, and the oracle's logarithm has no digits left.
fn nearly_opposite(a: &Sample, b: &Sample) -> bool {
    let dot = |p: [f64; 4], q: [f64; 4]| p.iter().zip(q).map(|(p, q)| p * q).sum::<f64>();
    let (p, q) = (a.quaternion, b.quaternion);
    (dot(p, q) / (dot(p, p) * dot(q, q)).sqrt()).abs() < 1e-2
}

fn as_matrix(transform: Transform) -> Matrix {
    let q = transform.rotation;
    matrix(transform.translation_m, [q.x, q.y, q.z, q.w])
}

#[test]
fn random_trees_agree_with_matrices() {
    println!("seed {SEED}");
    let mut rng = Rng(SEED);
    let (mut compared, mut out_of_reach) = (0_u32, 0_u32);
    let (mut worst_m, mut worst_rad) = (0.0_f64, 0.0_f64);
    for _ in 0..TREES {
        let tree = Tree::random(&mut rng);
        let buffer = tree.buffer(&mut rng);
        let stamps: Vec<u64> = tree
            .edges
            .iter()
            .flat_map(|edge| edge.samples.iter().filter_map(|sample| sample.stamp_ns))
            .collect();
        for _ in 0..400 {
            let frames = tree.edges.len() + 1;
            let (target, source) = (rng.index(frames), rng.index(frames));
            // A quarter of the times hit a sample exactly.
            let at_ns = if rng.one_in(4) && !stamps.is_empty() {
                stamps[rng.index(stamps.len())]
            } else {
                START_NS - 600 * MS + rng.between(0, 15_000 * MS)
            };
            let answer = buffer.lookup(&name(target), &name(source), LogTime::from_ns(at_ns));
            match (tree.target_from_source(target, source, at_ns), answer) {
                (Some(expected), Ok(transform)) => {
                    let (off_m, off_rad) = errors(&expected, &as_matrix(transform));
                    assert!(
                        off_m <= TOLERANCE && off_rad <= TOLERANCE,
                        "{target} from {source} at {at_ns}: {off_m} m, {off_rad} rad"
                    );
                    (worst_m, worst_rad) = (worst_m.max(off_m), worst_rad.max(off_rad));
                    compared += 1;
                }
                (None, Err(LookupError::Extrapolation { .. })) => out_of_reach += 1,
                (expected, answer) => {
                    panic!("{target} from {source} at {at_ns}: {expected:?} but {answer:?}")
                }
            }
        }
    }
    println!(
        "{compared} transforms compared, largest errors {worst_m:e} m and {worst_rad:e} rad; \
         {out_of_reach} refused by both"
    );
    assert!(compared > 30_000 && out_of_reach > 5_000, "{compared} {out_of_reach}");
}

#[test]
fn angles_of_random_rotations_agree_with_matrices() {
    println!("seed {SEED}");
    let mut rng = Rng(SEED);
    let (mut worst_rad, mut compared) = (0.0_f64, 0_u32);
    for _ in 0..10_000 {
        let parts = rng.quaternion();
        let of_matrix = roll_pitch_yaw(&matrix([0.0; 3], parts));
        for [x, y, z, w] in [parts, parts.map(|part| -part)] {
            let q = Quaternion { x, y, z, w }.normalized().unwrap();
            let rpy = q.to_rpy_rad();
            worst_rad = worst_rad.max(recomposed_error_rad(q));
            assert!((rpy[2] - q.yaw_rad()).abs() < 1e-15);
            // The textbook's arc sine loses digits towards the pole.
            if of_matrix[1].abs() < FRAC_PI_2 - 1e-3 {
                compared += 1;
                for (a, b) in rpy.into_iter().zip(of_matrix) {
                    worst_rad = worst_rad.max(angle_between(a, b));
                }
            }
        }
    }
    println!("{compared} rotations compared, largest error {worst_rad:e} rad");
    assert!(worst_rad <= TOLERANCE && compared > 19_000, "{worst_rad:e} {compared}");
}

#[test]
fn rotations_near_gimbal_lock_come_back_from_their_angles() {
    println!("seed {SEED}");
    let mut rng = Rng(SEED);
    let mut worst_rad = 0.0_f64;
    for _ in 0..10_000 {
        let exponent = i32::try_from(rng.between(1, 17)).unwrap();
        let off_pole = 10.0_f64.powi(-exponent) * rng.real(-1.0, 1.0);
        let pole = if rng.one_in(2) { FRAC_PI_2 } else { -FRAC_PI_2 };
        let (roll, yaw) = (rng.real(-PI, PI), rng.real(-PI, PI));
        let q = Quaternion::from_rpy_rad(roll, pole + off_pole, yaw);
        assert!(q.to_rpy_rad()[1].abs() <= FRAC_PI_2);
        worst_rad = worst_rad.max(recomposed_error_rad(q));
    }
    println!("largest error {worst_rad:e} rad");
    assert!(worst_rad <= TOLERANCE, "{worst_rad:e}");
}

#[test]
fn the_middle_never_lies_the_long_way_round() {
    println!("seed {SEED}");
    let mut rng = Rng(SEED);
    for _ in 0..10_000 {
        let heading = rng.real(-180.0, 180.0);
        let step = rng.real(-179.0, 179.0);
        let yaw = |deg: f64| Quaternion::from_yaw_rad(deg.to_radians());
        let to = yaw(heading + step);
        let minus_to = Quaternion { x: -to.x, y: -to.y, z: -to.z, w: -to.w };
        let expected = (heading + step / 2.0).to_radians();
        for to in [to, minus_to] {
            let middle = Quaternion::slerp(yaw(heading), to, 0.5).yaw_rad();
            assert!(angle_between(middle, expected) < TOLERANCE, "{heading} {step}");
        }
    }
}

fn recomposed_error_rad(q: Quaternion) -> f64 {
    let [roll, pitch, yaw] = q.to_rpy_rad();
    let [[sr, cr], [sp, cp], [sy, cy]] = [roll, pitch, yaw].map(|angle| {
        let (s, c) = angle.sin_cos();
        [s, c]
    });
    let about_x = [[1., 0., 0., 0.], [0., cr, -sr, 0.], [0., sr, cr, 0.], [0., 0., 0., 1.]];
    let about_y = [[cp, 0., sp, 0.], [0., 1., 0., 0.], [-sp, 0., cp, 0.], [0., 0., 0., 1.]];
    let about_z = [[cy, -sy, 0., 0.], [sy, cy, 0., 0.], [0., 0., 1., 0.], [0., 0., 0., 1.]];
    let again = product(&about_z, &product(&about_y, &about_x));
    errors(&again, &matrix([0.0; 3], [q.x, q.y, q.z, q.w])).1
}

fn angle_between(a: f64, b: f64) -> f64 {
    let turn = (a - b).rem_euclid(TAU);
    turn.min(TAU - turn)
}
