//! Bit streams and the instantaneous codes of `[BV04]`, most significant bit first.
//!
//! A natural number x is written as: *unary*, x zeros and a one; *γ*, the length
//! of x + 1 in unary and its lower bits; *δ*, that length in γ instead; *ζ_k*,
//! the length in units of k bits in unary, then the rest in a minimal binary code.

/// The longest unary code an honest file holds: numbers here are below 2⁶⁴.
const LONGEST_UNARY: u32 = 1 << 20;

/// Reads codes; `None` past the end or where no number can be meant.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    /// Bits read so far.
    at: u64,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    /// The next 64 bits, zeros past the end.
    #[inline]
    fn peek(&self) -> u64 {
        let byte = (self.at / 8) as usize;
        let mut window = [0; 9];
        let rest = self.bytes.get(byte..).unwrap_or_default();
        let have = rest.len().min(9);
        window[..have].copy_from_slice(&rest[..have]);
        let [first @ .., last] = window;
        let shift = (self.at % 8) as u32;
        let low = if shift == 0 { 0 } else { u64::from(last) >> (8 - shift) };
        (u64::from_be_bytes(first) << shift) | low
    }

    #[inline]
    fn skip(&mut self, bits: u32) -> Option<()> {
        self.at += u64::from(bits);
        (self.at <= 8 * self.bytes.len() as u64).then_some(())
    }

    /// A number of so many bits, at most 63.
    #[inline]
    pub(crate) fn bits(&mut self, count: u32) -> Option<u64> {
        if count == 0 {
            return Some(0);
        }
        let value = self.peek().checked_shr(64_u32.checked_sub(count)?)?;
        self.skip(count).map(|()| value)
    }

    #[inline]
    pub(crate) fn unary(&mut self) -> Option<u64> {
        let mut zeros = 0;
        loop {
            let run = self.peek().leading_zeros();
            if run < 64 {
                zeros += run;
                self.skip(run + 1)?;
                return Some(u64::from(zeros));
            }
            zeros += 64;
            self.skip(64)?;
            if zeros > LONGEST_UNARY {
                return None;
            }
        }
    }

    #[inline]
    pub(crate) fn gamma(&mut self) -> Option<u64> {
        let length = self.unary().filter(|&length| length < 63)? as u32;
        Some(((1 << length) | self.bits(length)?) - 1)
    }

    pub(crate) fn delta(&mut self) -> Option<u64> {
        let length = self.gamma().filter(|&length| length < 63)? as u32;
        Some(((1 << length) | self.bits(length)?) - 1)
    }

    #[inline]
    pub(crate) fn zeta(&mut self, k: u32) -> Option<u64> {
        let low = self.unary()?.checked_mul(u64::from(k))?;
        if low + u64::from(k) > 62 {
            return None;
        }
        let left = 1_u64 << low;
        let short = self.bits(low as u32 + k - 1)?;
        if short < left {
            return Some(short + left - 1);
        }
        Some((short << 1 | self.bits(1)?) - 1)
    }
}

/// Takes codes: writes them, or only counts their bits.
pub(crate) trait Sink {
    /// The lower `count` bits of a value, at most 63.
    fn bits(&mut self, value: u64, count: u32);

    fn unary(&mut self, x: u64) {
        (0..x / 32).for_each(|_| self.bits(0, 32));
        self.bits(1, (x % 32) as u32 + 1);
    }

    fn gamma(&mut self, x: u64) {
        let length = (x + 1).ilog2();
        self.unary(u64::from(length));
        self.bits((x + 1) ^ (1 << length), length);
    }

    fn zeta(&mut self, k: u32, x: u64) {
        let high = (x + 1).ilog2() / k;
        self.unary(u64::from(high));
        let (low, left) = (high * k, 1_u64 << (high * k));
        if x + 1 - left < left {
            self.bits(x + 1 - left, low + k - 1);
        } else {
            self.bits(x + 1, low + k);
        }
    }
}

/// Bits written.
#[derive(Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
    /// Bits not yet in `bytes`, in the lower end.
    rest: u64,
    held: u32,
    pub(crate) written: u64,
}

impl Sink for Writer {
    fn bits(&mut self, value: u64, count: u32) {
        // Eight bits at most are held, so halves of 32 always fit.
        if count > 32 {
            self.bits(value >> 32, count - 32);
            return self.bits(value & 0xFFFF_FFFF, 32);
        }
        self.rest = self.rest << count | (value & ((1 << count) - 1));
        self.held += count;
        self.written += u64::from(count);
        while self.held >= 8 {
            self.held -= 8;
            self.bytes.push((self.rest >> self.held) as u8);
        }
    }
}

impl Writer {
    /// The bytes, the last one filled up with zeros.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        if self.held > 0 {
            self.bytes.push((self.rest << (8 - self.held)) as u8);
        }
        self.bytes
    }
}

/// Bits counted.
#[derive(Default)]
pub(crate) struct Counter(pub(crate) u64);

impl Sink for Counter {
    fn bits(&mut self, _: u64, count: u32) {
        self.0 += u64::from(count);
    }
}

/// Whole numbers as naturals: 0, −1, 1, −2, … become 0, 1, 2, 3, ….
pub(crate) const fn natural(x: i64) -> u64 {
    ((x << 1) ^ (x >> 63)).cast_unsigned()
}

/// And back.
pub(crate) const fn whole(x: u64) -> i64 {
    (x >> 1).cast_signed() ^ -(x & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn codes_are_those_of_the_paper() {
        // γ(0) = 1, γ(4) = 00101; ζ₃(0) = 100, ζ₃(15) = 0100010000 ([BV04], tables).
        let mut writer = Writer::default();
        writer.gamma(0);
        writer.gamma(4);
        writer.zeta(3, 0);
        assert_eq!(writer.written, 1 + 5 + 3);
        assert_eq!(writer.finish(), [0b1001_0110, 0]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(values in prop::collection::vec(0..1_u64 << 40, 0..60)) {
            let mut writer = Writer::default();
            let mut counter = Counter::default();
            for &x in &values {
                writer.gamma(x);
                writer.zeta(3, x);
                writer.unary(x % 100);
                counter.gamma(x);
                counter.zeta(3, x);
                counter.unary(x % 100);
            }
            prop_assert_eq!(writer.written, counter.0);
            let bytes = writer.finish();
            let mut reader = Reader::new(&bytes);
            for &x in &values {
                prop_assert_eq!(reader.gamma(), Some(x));
                prop_assert_eq!(reader.zeta(3), Some(x));
                prop_assert_eq!(reader.unary(), Some(x % 100));
            }
        }

        #[test]
        fn noise_is_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut reader = Reader::new(&bytes);
            while reader.zeta(3).is_some() && reader.delta().is_some() {}
        }

        #[test]
        fn signs_fold(x in any::<i32>()) {
            prop_assert_eq!(whole(natural(x.into())), i64::from(x));
        }
    }
}
