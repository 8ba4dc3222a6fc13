use crate::number::float;

/// What a random number is for; each use has a lane of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lane {
    Order,
    Spot,
    Dwell,
    MoverZone,
    MoverPlace,
    SceneMiss,
    DetectionMiss,
    Score,
    Ray,
    Sample,
    /// The delay between stamp and log time of the channel with this number.
    Jitter(u8),
}

impl Lane {
    const fn key(self) -> u64 {
        match self {
            Self::Order => 1,
            Self::Spot => 2,
            Self::Dwell => 3,
            Self::MoverZone => 4,
            Self::MoverPlace => 5,
            Self::SceneMiss => 6,
            Self::DetectionMiss => 7,
            Self::Score => 8,
            Self::Ray => 9,
            Self::Sample => 10,
            Self::Jitter(channel) => 0x100 + channel as u64,
        }
    }
}

/// Random numbers by name instead of by turn: number `k` of a lane needs no number before it.
///
/// That is what makes any split of a history computable alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chance {
    seed: u64,
}

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed: mix(seed) }
    }

    /// 64 random bits.
    pub(crate) const fn bits(self, lane: Lane, k: u64) -> u64 {
        mix(mix(self.seed ^ lane.key().wrapping_mul(0xd134_2543_de82_ef95)).wrapping_add(k))
    }

    /// A number in `0.0..1.0`.
    pub(crate) const fn unit(self, lane: Lane, k: u64) -> f64 {
        float(self.bits(lane, k) >> 11) * (1.0 / 9_007_199_254_740_992.0)
    }

    /// A number in `0..n`; 0 when `n` is 0.
    pub(crate) const fn below(self, lane: Lane, k: u64, n: u64) -> u64 {
        match self.bits(lane, k).checked_rem(n) {
            Some(rest) => rest,
            None => 0,
        }
    }
}

/// One output of `SplitMix64` (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, 2014).
const fn mix(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_agrees_with_the_published_sequence() {
        // First outputs of SplitMix64 seeded with 1234567.
        assert_eq!(mix(1_234_567), 6_457_827_717_110_365_317);
        assert_eq!(
            mix(1_234_567_u64.wrapping_add(0x9e37_79b9_7f4a_7c15)),
            3_203_168_211_198_807_973
        );
    }

    #[test]
    fn units_fill_the_unit_interval() {
        let chance = Chance::new(5);
        let mean = (0..10_000).map(|k| chance.unit(Lane::Order, k)).sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        assert_eq!(chance.below(Lane::Order, 3, 0), 0);
    }
}
