//! A slab whose keys never come back: an index with a generation.
//!
//! A stale key finds nothing, even after its index was given to another entry.

use slab::Slab;

/// Names one entry for as long as it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    /// Both halves in one number, for a poll token.
    pub fn pack(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The key that [`Key::pack`] packed.
    pub fn unpack(packed: u64) -> Key {
        Key { index: packed as u32, generation: (packed >> 32) as u32 }
    }
}

/// Entries under generational keys.
#[derive(Debug)]
pub struct Slots<T> {
    entries: Slab<(u32, T)>,
    next_generation: u32,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots { entries: Slab::new(), next_generation: 1 }
    }
}

impl<T> Slots<T> {
    /// Adds an entry.
    ///
    /// # Panics
    /// Beyond 2^32 entries at once; every user has a far lower bound.
    pub fn insert(&mut self, value: T) -> Key {
        let generation = self.next_generation;
        self.next_generation = self.next_generation.wrapping_add(1);
        let index = self.entries.insert((generation, value));
        Key { index: u32::try_from(index).expect("tables are bounded far below 2^32"), generation }
    }

    /// The entry, unless it is gone.
    pub fn get(&self, key: Key) -> Option<&T> {
        match self.entries.get(key.index as usize) {
            Some((generation, value)) if *generation == key.generation => Some(value),
            _ => None,
        }
    }

    /// The entry, unless it is gone.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        match self.entries.get_mut(key.index as usize) {
            Some((generation, value)) if *generation == key.generation => Some(value),
            _ => None,
        }
    }

    /// Takes the entry out; its key finds nothing from now on.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        Some(self.entries.remove(key.index as usize).1)
    }

    /// How many entries live.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none lives.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All entries, lowest index first.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.entries.iter().map(|(index, (generation, value))| {
            (Key { index: index as u32, generation: *generation }, value)
        })
    }

    /// All keys, lowest index first, copied so that entries may go meanwhile.
    pub fn keys(&self) -> Vec<Key> {
        self.iter().map(|(key, _)| key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_key_finds_nothing_after_its_index_was_reused() {
        let mut slots = Slots::default();
        let old = slots.insert("old");
        assert_eq!(slots.remove(old), Some("old"));
        let new = slots.insert("new");
        assert_eq!((slots.remove(old), slots.get(old), slots.get(new)), (None, None, Some(&"new")));
        assert_eq!(Key::unpack(new.pack()), new);
    }
}
