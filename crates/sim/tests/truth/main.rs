//! Laws that a simulated network must obey, with the numbers worked out by hand.

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "each test takes what it needs of the common part")]
mod common;

mod controllers;
mod links;
mod pages;
mod paths;
mod sharing;
