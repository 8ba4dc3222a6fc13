//! What a machine shared with others lets one say of repeated measurements.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// What one piece of work took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// From its start to its end.
    pub wall: Duration,
    /// On the processors, all threads of this process together: what others do on the machine
    /// does not count.
    pub cpu: Duration,
}

/// A running measurement.
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    started: Instant,
    cpu_before: Duration,
}

impl Watch {
    /// Starts to measure.
    pub fn start() -> Self {
        Self { cpu_before: cpu_time(), started: Instant::now() }
    }

    /// What was taken since the start.
    pub fn taken(&self) -> Taken {
        let wall = self.started.elapsed();
        Taken { wall, cpu: cpu_time().saturating_sub(self.cpu_before) }
    }
}

/// The middle of some measurements and how far they spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// The shortest.
    pub least: Duration,
    /// The middle one.
    pub median: Duration,
    /// The longest.
    pub most: Duration,
    /// The middle one of the processor times.
    pub cpu_median: Duration,
}

/// The spread of `n` measurements; zero for none.
///
/// # Errors
///
/// The first error of `measure`.
pub fn spread_of<E>(n: usize, mut measure: impl FnMut() -> Result<Taken, E>) -> Result<Spread, E> {
    let (mut walls, mut cpus) = (Vec::with_capacity(n), Vec::with_capacity(n));
    for _ in 0..n {
        let taken = measure()?;
        walls.push(taken.wall);
        cpus.push(taken.cpu);
    }
    walls.sort_unstable();
    cpus.sort_unstable();
    let at = |sorted: &[Duration], place: usize| sorted.get(place).copied().unwrap_or_default();
    Ok(Spread {
        least: at(&walls, 0),
        median: at(&walls, n / 2),
        most: at(&walls, n.saturating_sub(1)),
        cpu_median: at(&cpus, n / 2),
    })
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let part = |n: i64| u64::try_from(n).unwrap_or_default();
    Duration::from_secs(part(time.tv_sec)) + Duration::from_nanos(part(time.tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one() {
        let ms = Duration::from_millis;
        let mut given = [(5, 30), (1, 10), (9, 20)].into_iter();
        let mut next = || {
            let (wall, cpu) = given.next().ok_or("no more")?;
            Ok(Taken { wall: ms(wall), cpu: ms(cpu) })
        };
        let spread = spread_of(3, &mut next).unwrap();
        let expected = Spread { least: ms(1), median: ms(5), most: ms(9), cpu_median: ms(20) };
        assert_eq!(spread, expected);
        assert_eq!(spread_of(1, &mut next), Err("no more"));
    }
}
