//! Laws that a simulated network must obey, with the numbers worked out by hand.

#[path = "../common/mod.rs"]
mod common;

mod controllers;
mod links;
mod pages;
mod paths;
mod sharing;
