//! A recorded or simulated web on disk: read and written, checked row by row.
