//! The clock of the served web.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tidewatch_core::Time;

/// The time of the served web.
pub trait WebClock: Send + Sync + 'static {
    /// Now, in the trace's time.
    fn now(&self) -> Time;
}

impl<F: Fn() -> Time + Send + Sync + 'static> WebClock for F {
    fn now(&self) -> Time {
        self()
    }
}

/// Accelerated real time: `speed` simulated seconds per real second.
#[derive(Clone, Copy, Debug)]
pub struct Accelerated {
    began: Instant,
    speed: f64,
}

impl Accelerated {
    /// A clock that shows 0 at `began`. An invalid speed (not finite or not above zero) counts as 1.
    pub fn new(began: Instant, speed: f64) -> Self {
        let is_sound = speed.is_finite() && speed > 0.0;
        Accelerated { began, speed: if is_sound { speed } else { 1.0 } }
    }

    /// The simulated time at a real instant; 0 before the clock began.
    pub fn at(&self, instant: Instant) -> Time {
        let real = instant.saturating_duration_since(self.began).as_secs_f64();
        Time::from_seconds(real * self.speed).unwrap_or(Time::NEVER)
    }

    /// The real instant at which the clock shows `time`; `None` if the system's clock cannot express it.
    pub fn instant(&self, time: Time) -> Option<Instant> {
        let real = Duration::try_from_secs_f64(time.seconds() / self.speed).ok()?;
        self.began.checked_add(real)
    }

    /// Simulated seconds per real second.
    pub fn speed(&self) -> f64 {
        self.speed
    }
}

impl WebClock for Accelerated {
    fn now(&self) -> Time {
        self.at(Instant::now())
    }
}

/// A clock that moves only when set.
#[derive(Debug, Default)]
pub struct ByHand(AtomicU64);

impl ByHand {
    /// Sets the time.
    pub fn set(&self, time: Time) {
        self.0.store(time.as_micros(), Ordering::SeqCst);
    }
}

impl WebClock for ByHand {
    fn now(&self) -> Time {
        Time::from_micros(self.0.load(Ordering::SeqCst))
    }
}

impl<C: WebClock> WebClock for std::sync::Arc<C> {
    fn now(&self) -> Time {
        (**self).now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accelerated_time_maps_both_ways() {
        let began = Instant::now();
        let clock = Accelerated::new(began, 60.0);
        let later = began + Duration::from_millis(1500);
        assert_eq!(clock.at(later), Time::from_seconds(90.0).unwrap());
        assert_eq!(clock.instant(Time::from_seconds(90.0).unwrap()), Some(later));
        assert_eq!(clock.at(began), Time::ZERO);
    }

    #[test]
    fn invalid_speeds_are_real_time() {
        for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!((Accelerated::new(Instant::now(), speed).speed() - 1.0).abs() < f64::EPSILON);
        }
    }
}
