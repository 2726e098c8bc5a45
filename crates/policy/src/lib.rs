//! What is a fetch worth, when is a page due, what is the price?
