//! The wheel against tables of due times, and against a sorted list.
//!
//! Time is a number throughout; nothing here waits. The order among the fired ones is part of each
//! expectation.

use super::*;

/// Fires everything due at `now` and says what fired.
fn fired(wheel: &mut Wheel<u32>, now: Millis) -> Vec<u32> {
    wheel.collect_due(now);
    std::iter::from_fn(|| wheel.fire(now)).map(|(owner, _)| owner).collect()
}

/// Starts timers `(owner, after)` at time `start`; at each `(now, fires)` exactly those fire.
#[track_caller]
fn check(start: Millis, timers: &[(u32, Millis)], expected: &[(Millis, &[u32])]) {
    let mut wheel = Wheel::new(start);
    for &(owner, after) in timers {
        wheel.start(owner, start, after, None);
    }
    for &(now, fires) in expected {
        assert_eq!(fired(&mut wheel, now), fires, "at {now}");
    }
}

#[test]
fn timers_fire_by_due_time_then_by_order_of_starting() {
    check(0, &[(1, 5), (2, 0), (3, 5), (4, 4)], &[(0, &[2]), (4, &[4]), (9, &[1, 3])]);
    check(61, &[(1, 70), (2, 3), (3, 2)], &[(62, &[]), (200, &[3, 2, 1])]);
    check(7, &[(1, 4096), (2, 4095), (3, 262_144)], &[(4102, &[2]), (4103, &[1])]);
}

#[test]
fn a_due_time_beyond_the_horizon_or_the_end_of_time_is_kept() {
    let far = 1 << 40;
    check(3, &[(1, far), (2, u64::MAX), (3, far - 1)], &[(far, &[]), (far + 2, &[3])]);
    check(3, &[(1, far), (2, u64::MAX)], &[(far + 3, &[1]), (u64::MAX, &[2])]);
}

#[test]
fn the_next_due_time_is_exact_through_starts_and_stops() {
    let mut wheel = Wheel::new(1000);
    let near = wheel.start(1, 1000, 50, None);
    wheel.start(2, 1000, 5000, None);
    assert_eq!(wheel.next_due(), Some(1050));
    wheel.stop(near);
    assert_eq!(wheel.next_due(), Some(6000));
    wheel.start(3, 1000, 4999, None);
    assert_eq!(wheel.next_due(), Some(5999));
    assert_eq!(fired(&mut wheel, 5999), [3]);
    assert_eq!(wheel.next_due(), Some(6000));
}

#[test]
fn a_timer_stopped_by_another_due_one_does_not_fire() {
    let mut wheel = Wheel::new(0);
    wheel.start(1, 0, 1, None);
    let second = wheel.start(2, 0, 1, NonZeroU64::new(9));
    wheel.collect_due(1);
    assert_eq!(wheel.fire(1).map(|(owner, _)| owner), Some(1));
    assert_eq!(wheel.stop(second), Some(2));
    assert_eq!(wheel.fire(1), None);
    assert!(wheel.is_empty());
}

#[test]
fn a_repeating_timer_counts_from_the_cached_time_and_skips_missed_periods() {
    let mut wheel = Wheel::new(0);
    wheel.start(1, 0, 10, NonZeroU64::new(10));
    assert_eq!(fired(&mut wheel, 35), [1]);
    assert_eq!(wheel.next_due(), Some(45));
}

#[test]
fn a_timer_restarted_with_0_fires_once_a_turn() {
    let mut wheel = Wheel::new(0);
    wheel.start(1, 0, 0, None);
    wheel.collect_due(0);
    assert!(wheel.fire(0).is_some());
    wheel.start(1, 0, 0, None);
    assert_eq!(wheel.fire(0), None);
    assert_eq!(fired(&mut wheel, 0), [1]);
}

proptest::proptest! {
    #[test]
    fn the_wheel_agrees_with_a_sorted_list(
        steps in proptest::collection::vec((0u64..200_000, 0u64..9000, 0u8..4), 1..60)
    ) {
        let (mut wheel, mut now) = (Wheel::new(0), 0);
        let mut list: Vec<(Millis, u32, TimerId)> = Vec::new();
        for (owner, (after, pass, kind)) in (0u32..).zip(steps) {
            if kind == 0 && !list.is_empty() {
                let (_, _, id) = list.remove(pass as usize % list.len());
                wheel.stop(id);
            }
            let id = wheel.start(owner, now, after, None);
            list.push((now + after, owner, id));
            list.sort_by_key(|entry| (entry.0, entry.1));
            proptest::prop_assert_eq!(wheel.next_due(), Some(list[0].0));
            now += pass;
            let due = list.iter().take_while(|entry| entry.0 <= now).count();
            let expected: Vec<u32> = list.drain(..due).map(|entry| entry.1).collect();
            proptest::prop_assert_eq!(fired(&mut wheel, now), expected);
        }
    }
}
