//! How is a result shown to a person? Tables, plots and self-contained pages.
