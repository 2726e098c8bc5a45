//! Arrays longer than serde knows, as sequences: `#[serde(with = "tidewatch_math::array")]`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes all elements, with their number.
pub fn serialize<T: Serialize, S: Serializer, const N: usize>(
    array: &[T; N],
    to: S,
) -> Result<S::Ok, S::Error> {
    array.as_slice().serialize(to)
}

/// Reads exactly as many elements as the array has.
pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>, const N: usize>(
    from: D,
) -> Result<[T; N], D::Error> {
    let all = Vec::<T>::deserialize(from)?;
    let found = all.len();
    all.try_into().map_err(|_| D::Error::custom(format!("{N} numbers were expected, not {found}")))
}
