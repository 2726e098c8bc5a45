//! Reports as a reader gets them: golden output, hostile text, extreme values.

mod golden;
mod hostile;
