//! The timer wheel.
//!
//! Six levels of 64 slots: a timer stands on the level of the highest six-bit digit in which its
//! due time differs from the wheel's own time, in the slot of that digit. So everything on a lower
//! level is due before anything on a higher one, and the first occupied slot of the lowest
//! occupied level holds the next due timer: the poll can sleep exactly until then. Starting and
//! stopping cost no search.
//!
//! Order is libuv's (1.48 and later): by due time, then by order of starting. The due ones are
//! fixed before the first of them fires; a timer stopped meanwhile stays silent; a repeating timer
//! is armed again before its event, counted from the loop's cached time, so missed periods are
//! not made up for.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::event::TimerId;
use crate::stdx::Millis;
use crate::stdx::slots::{Key, Slots};

/// Armed timers of owners `T`.
#[derive(Debug)]
pub(super) struct Wheel<T> {
    timers: Slots<Timer<T>>,
    /// Keys by place; `timers[places[p].keys[i]].place == p, i`.
    places: Vec<Vec<Key>>,
    /// One bit a slot of each level that holds a key.
    occupied: [u64; LEVELS],
    /// All places are relative to this; at most the loop's time.
    elapsed: Millis,
    /// Start counter; a timer's equals the last value it was armed with.
    starts: u64,
    /// Fixed set of the timers phase under way, in firing order.
    due: VecDeque<(Key, u64)>,
    /// The earliest due time, if known; forgotten when that timer goes.
    next_due: Option<Millis>,
}

#[derive(Debug)]
struct Timer<T> {
    owner: T,
    due: Millis,
    start: u64,
    repeat: Option<NonZeroU64>,
    /// Index into `places` and into that place; `None` while in the due set.
    place: Option<(usize, usize)>,
}

const LEVELS: usize = 6;
const DIGIT_BITS: u32 = 6;
const SLOTS: usize = 1 << DIGIT_BITS;
/// The place of timers due beyond the wheel's horizon of 2^36 ms, about two years.
const FAR: usize = LEVELS * SLOTS;

impl<T: Copy> Wheel<T> {
    pub(super) fn new(now: Millis) -> Wheel<T> {
        Wheel {
            timers: Slots::default(),
            places: vec![Vec::new(); FAR + 1],
            occupied: [0; LEVELS],
            elapsed: now,
            starts: 0,
            due: VecDeque::new(),
            next_due: None,
        }
    }

    /// Arms a timer `after_ms` from `now`, the loop's cached time.
    pub(super) fn start(
        &mut self,
        owner: T,
        now: Millis,
        after_ms: Millis,
        repeat: Option<NonZeroU64>,
    ) -> TimerId {
        let due = now.saturating_add(after_ms).max(self.elapsed);
        let key = self.timers.insert(Timer { owner, due, start: 0, repeat, place: None });
        self.arm(key, due);
        TimerId(key)
    }

    /// Takes the timer away and returns its owner, unless it is gone.
    pub(super) fn stop(&mut self, id: TimerId) -> Option<T> {
        self.unplace(id.0);
        self.timers.remove(id.0).map(|timer| timer.owner)
    }

    /// Whether no timer is armed.
    pub(super) fn is_empty(&self) -> bool {
        self.timers.is_empty()
    }

    /// The earliest due time.
    pub(super) fn next_due(&mut self) -> Option<Millis> {
        if self.next_due.is_none() {
            let place = self.first_place()?;
            let dues = self.places[place].iter().filter_map(|&key| self.timers.get(key));
            self.next_due = dues.map(|timer| timer.due).min();
        }
        self.next_due
    }

    /// Fixes the set of timers due at `now`, to be taken by [`Wheel::fire`].
    pub(super) fn collect_due(&mut self, now: Millis) {
        assert!(self.due.is_empty());
        if self.next_due().is_none_or(|due| due > now) {
            return;
        }
        let mut found = Vec::new();
        while let Some(place) = self.first_place() {
            let start = self.place_start(place);
            if start > now {
                break;
            }
            self.elapsed = self.elapsed.max(start);
            for key in self.empty(place) {
                let timer = self.timers.get_mut(key).expect("a placed key names a timer");
                timer.place = None;
                let due = timer.due;
                if due <= now {
                    found.push((due, timer.start, key));
                } else {
                    self.place(key, due);
                }
            }
        }
        self.elapsed = self.elapsed.max(now);
        self.next_due = None;
        found.sort_unstable();
        self.due.extend(found.into_iter().map(|(_, start, key)| (key, start)));
    }

    /// The next timer of the fixed set that was not stopped meanwhile.
    pub(super) fn fire(&mut self, now: Millis) -> Option<(T, TimerId)> {
        while let Some((key, start)) = self.due.pop_front() {
            let Some(timer) = self.timers.get(key) else { continue };
            if timer.start != start {
                continue;
            }
            let owner = timer.owner;
            match timer.repeat {
                Some(repeat) => self.arm(key, now.saturating_add(repeat.get())),
                None => {
                    self.timers.remove(key);
                }
            }
            return Some((owner, TimerId(key)));
        }
        None
    }

    fn arm(&mut self, key: Key, due: Millis) {
        self.starts += 1;
        let timer = self.timers.get_mut(key).expect("the caller holds a live key");
        timer.due = due;
        timer.start = self.starts;
        self.place(key, due);
    }

    fn place(&mut self, key: Key, due: Millis) {
        assert!(due >= self.elapsed);
        let differing = due ^ self.elapsed;
        let level = (63 - (differing | 1).leading_zeros()) / DIGIT_BITS;
        let place = if level as usize >= LEVELS {
            FAR
        } else {
            let slot = (due >> (level * DIGIT_BITS)) as usize % SLOTS;
            self.occupied[level as usize] |= 1 << slot;
            level as usize * SLOTS + slot
        };
        let timer = self.timers.get_mut(key).expect("the caller holds a live key");
        timer.place = Some((place, self.places[place].len()));
        self.places[place].push(key);
        // An unknown next due time stays unknown unless this is the only timer.
        if self.next_due.is_some_and(|next| due < next) {
            self.next_due = Some(due);
        }
    }

    fn unplace(&mut self, key: Key) {
        let Some(timer) = self.timers.get_mut(key) else { return };
        let due = timer.due;
        let Some((place, index)) = timer.place.take() else { return };
        let taken = self.places[place].swap_remove(index);
        assert!(taken == key);
        if let Some(&moved) = self.places[place].get(index) {
            let moved = self.timers.get_mut(moved).expect("a placed key names a timer");
            moved.place = Some((place, index));
        }
        if self.places[place].is_empty() {
            self.mark_empty(place);
        }
        if self.next_due == Some(due) {
            self.next_due = None;
        }
    }

    fn empty(&mut self, place: usize) -> Vec<Key> {
        self.mark_empty(place);
        std::mem::take(&mut self.places[place])
    }

    fn mark_empty(&mut self, place: usize) {
        if place != FAR {
            self.occupied[place / SLOTS] &= !(1 << (place % SLOTS));
        }
    }

    /// The place that holds the next due timer.
    fn first_place(&self) -> Option<usize> {
        let level = self.occupied.iter().position(|&bits| bits != 0);
        match level {
            Some(level) => Some(level * SLOTS + self.occupied[level].trailing_zeros() as usize),
            None => (!self.places[FAR].is_empty()).then_some(FAR),
        }
    }

    /// The earliest due time a timer of this place can have.
    fn place_start(&self, place: usize) -> Millis {
        if place == FAR {
            let horizon_bits = LEVELS as u32 * DIGIT_BITS;
            return ((self.elapsed >> horizon_bits) + 1) << horizon_bits;
        }
        let shift = (place / SLOTS) as u32 * DIGIT_BITS;
        let block = self.elapsed >> (shift + DIGIT_BITS) << (shift + DIGIT_BITS);
        block | (((place % SLOTS) as u64) << shift)
    }
}

#[cfg(test)]
mod tests;
