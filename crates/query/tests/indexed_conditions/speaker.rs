//! What is said in one bag: few words, numbers around one, places around one.

use ros2_memory_testkit::prng::Prng;

use crate::{
    said::{Said, Thing, Type},
    truth::seconds,
    words::{free_text, list, vocabulary},
};

/// Numbers that the others of a bag lie around: exact and inexact in single precision, larger and
/// smaller than it reaches.
const NUMBERS: [f64; 18] = [
    0.0,
    0.1,
    0.5,
    1.0,
    20.0,
    100.3,
    -0.1,
    -7.25,
    -1e3,
    16_777_216.0,
    16_777_217.0,
    1e10,
    -3e9,
    1e-3,
    1e-46,
    -1e-300,
    1e39,
    1e300,
];

/// Places that the others of a bag lie around, far ones among them: beyond a whole number of 32
/// bits, beyond what squares reach.
const FAR: [f64; 6] = [1e6, -1e9, 3e9, -2_147_483_648.0, 1e15, 1e300];

/// Speaks for the robot during one bag.
#[derive(Debug)]
pub(crate) struct Speaker {
    words: Vec<&'static str>,
    number: f64,
    is_calm: bool,
    is_busy: bool,
    place_m: [f64; 3],
    robot_m: [f64; 3],
    last_pose: Option<u64>,
    step_ns: u64,
}

impl Speaker {
    pub(crate) fn new(prng: &mut Prng, step_ns: u64, is_wild: bool) -> Self {
        let place_m = [region(prng), region(prng), quarters(prng, 8)];
        Self {
            words: vocabulary(prng),
            number: *prng.pick(&NUMBERS),
            is_calm: !is_wild || prng.chance(70),
            is_busy: prng.chance(30),
            place_m,
            robot_m: place_m,
            last_pose: None,
            step_ns,
        }
    }

    pub(crate) fn says(&mut self, prng: &mut Prng, topic: &str, of: Type, time: u64) -> Said {
        match of {
            Type::Text if topic == "/text/scene_objects" => Said::Text(if prng.chance(6) {
                free_text(prng, &self.words)
            } else {
                list(prng, &self.words)
            }),
            Type::Text => Said::Text(self.text(prng)),
            Type::Stamped => Said::Stamped(self.text(prng)),
            Type::Log => Said::Log {
                level: *prng.pick(&[10, 20, 20, 20, 30, 40]),
                name: (*prng.pick(&self.words)).to_owned(),
                msg: self.text(prng),
            },
            Type::Seen => {
                let thing = |prng: &mut Prng| Thing {
                    label: self.label(prng),
                    score: single(prng.below(100)) / 100.0,
                    at_m: self.place(prng),
                };
                let things = (0..prng.below(4)).map(|_| thing(prng)).collect();
                Said::Seen {
                    skill: (*prng.pick(&["detect", "track_people", "ÄPFEL"])).into(),
                    things,
                }
            }
            Type::Float64 => Said::Float64(self.number(prng)),
            Type::Float32 => Said::Float32(self.single(prng)),
            Type::Int32 => Said::Int32(whole(self.number) + whole(quarters(prng, 40))),
            Type::Bool => Said::Bool(self.is_busy && prng.chance(40)),
            Type::Battery => Said::Battery {
                voltage: self.single(prng),
                current: self.single(prng),
                percentage: single(prng.below(11)) / 10.0,
            },
            Type::Twist => {
                Said::Twist { linear_x: self.number(prng), angular_z: quarters(prng, 8) }
            }
            Type::Odometry => {
                let at_m = self.drive(prng, time);
                Said::Odometry { at_m, linear_x: self.number(prng), angular_z: quarters(prng, 8) }
            }
            Type::Pose => Said::Pose { at_m: self.place(prng) },
            Type::Point => Said::Point { at_m: self.place(prng) },
        }
    }

    fn text(&self, prng: &mut Prng) -> String {
        if prng.chance(8) { list(prng, &self.words) } else { free_text(prng, &self.words) }
    }

    fn label(&self, prng: &mut Prng) -> String {
        match prng.below(60) {
            0 => free_text(prng, &self.words),
            // Longer than any label is.
            1 => format!("{} {}", prng.pick(&self.words), "so ".repeat(80)),
            2 => list(prng, &self.words),
            3 => String::new(),
            _ => (*prng.pick(&self.words)).to_owned(),
        }
    }

    /// Near the number of this bag, a step of precision away, or none at all.
    fn number(&self, prng: &mut Prng) -> f64 {
        let near = self.number + self.number.abs().max(1e-3) * quarters(prng, 16) / 100.0;
        match prng.below(40) {
            0 => f64::NAN,
            1 if !self.is_calm => f64::INFINITY,
            2 if !self.is_calm => f64::NEG_INFINITY,
            3 => near.next_up(),
            4 => near.next_down(),
            5 => -0.0,
            6..16 => self.number,
            _ => near,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the nearest single")]
    fn single(&self, prng: &mut Prng) -> f32 {
        let number = self.number(prng) as f32;
        // What is too large for a single is infinite.
        if self.is_calm { number.clamp(f32::MIN, f32::MAX) } else { number }
    }

    fn place(&self, prng: &mut Prng) -> [f64; 3] {
        let mut at_m = self.place_m.map(|part| part + quarters(prng, 12));
        let axis = prng.index(2);
        match prng.below(50) {
            0 => at_m[axis] = f64::NAN,
            1 => at_m[axis] = f64::INFINITY,
            2 => at_m[axis] = f64::NEG_INFINITY,
            3 => at_m[axis] = at_m[axis].next_down(),
            4 => at_m[axis] = -0.0,
            5 => at_m[axis] = *prng.pick(&FAR),
            6 => at_m[axis] += 0.1,
            7 => at_m[2] = f64::NAN,
            _ => {}
        }
        at_m
    }

    /// The next pose on the way: a step of a robot, a stop, noise, a jump, or none.
    fn drive(&mut self, prng: &mut Prng, time: u64) -> [f64; 3] {
        let passed_ns = self.last_pose.map_or(self.step_ns, |last| time.saturating_sub(last));
        self.last_pose = Some(time);
        // Of 2 m/s at most, in 64ths of a metre, so that no step lies at a limit by rounding.
        let reach = (seconds(passed_ns) * 128.0).min(640.0).floor();
        let step = |prng: &mut Prng| (reach * quarters(prng, 5)).round() / 64.0;
        match prng.below(30) {
            0 => self.robot_m[0] += 1_000.0,
            1 => self.robot_m[1] = *prng.pick(&FAR),
            2..7 => {}
            7 | 8 => self.robot_m[0] += 0.03125,
            9 => {
                let mut at_m = self.robot_m;
                at_m[prng.index(2)] = *prng.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
                return at_m;
            }
            10 => return [self.robot_m[0], self.robot_m[1], f64::INFINITY],
            11 => self.robot_m = self.place_m,
            _ => {
                self.robot_m[0] += step(prng);
                self.robot_m[1] += step(prng);
            }
        }
        self.robot_m
    }
}

/// The corner of the part of the world where a bag plays.
fn region(prng: &mut Prng) -> f64 {
    match prng.below(20) {
        0 => *prng.pick(&FAR),
        1..6 => 0.0,
        _ => quarters(prng, 20) * 8.0,
    }
}

/// Quarters around zero, less than `most` of them to either side.
fn quarters(prng: &mut Prng, most: u64) -> f64 {
    f64::from(single(prng.below(2 * most - 1))) * 0.25 - f64::from(single(most - 1)) * 0.25
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
const fn single(number: u64) -> f32 {
    number as f32
}

#[expect(clippy::cast_possible_truncation, reason = "cut to the ends of the type")]
const fn whole(number: f64) -> i32 {
    (number.clamp(-1e9, 1e9)) as i32
}
