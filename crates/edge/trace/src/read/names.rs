//! Interns names.

use std::collections::HashMap;

/// Names numbered by first appearance. Neighbouring rows often share one.
#[derive(Default)]
pub(super) struct Names {
    numbers: HashMap<Box<str>, u32>,
    pub(super) by_number: Vec<Box<str>>,
    last: u32,
}

impl Names {
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if self.by_number.get(self.last as usize).is_some_and(|last| **last == *name) {
            return self.last;
        }
        self.last = self.numbers.get(name).copied().unwrap_or_else(|| {
            let number = self.by_number.len() as u32;
            self.numbers.insert(name.into(), number);
            self.by_number.push(name.into());
            number
        });
        self.last
    }
}
