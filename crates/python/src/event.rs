//! The signals of a controller written in Python, as objects with attributes.
//!
//! The declaration of the signals in `control` makes a class of each. Times and spans are seconds, rates bits per
//! second. A value that is not known is `None`.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;

use control::{Moment, RttSample};
use pyo3::prelude::*;
use serde_json::{Value, json};
use units::{Bytes, Random, Span, Time};

/// A value of a Python object, which the engine writes anew for the next event.
struct Rewritten<T>(UnsafeCell<T>);

// SAFETY: threads read and write one at a time, as they have to be attached.
unsafe impl<T: Send> Sync for Rewritten<T> {}

impl<T> Rewritten<T> {
    const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// The value, for no longer than a method of the object runs.
    fn get(&self) -> &T {
        // SAFETY: methods of Python objects run attached, and call nothing that writes.
        unsafe { &*self.0.get() }
    }

    /// Changes the value.
    fn change<R>(&self, change: impl FnOnce(&mut T) -> R, _attached: Python<'_>) -> R {
        // SAFETY: threads are attached one at a time, and this one has no reference from `get`.
        change(unsafe { &mut *self.0.get() })
    }
}

/// A type of fields, as Python has it.
pub(crate) trait Shown {
    /// Its type.
    type Python;

    /// Its name in annotations.
    fn annotation() -> String;

    /// The value in a signal that came `at` a moment.
    fn shown(&self, at: &Moment) -> Self::Python;
}

/// Types that are values of Python: `type as its, annotation: conversion`.
macro_rules! values {
    ($($type:ty as $python:ty, $annotation:literal: $to:expr;)+) => {$(
        impl Shown for $type {
            type Python = $python;

            fn annotation() -> String {
                $annotation.to_owned()
            }

            #[inline]
            fn shown(&self, _at: &Moment) -> $python {
                let to: fn($type) -> $python = $to;
                to(*self)
            }
        }
    )+};
}

values! {
    bool as bool, "bool": |value| value;
    u32 as u32, "int": |value| value;
    u64 as u64, "int": |value| value;
    f64 as f64, "float": |value| value;
    Time as f64, "float": record::seconds;
    Span as f64, "float": |span| span.as_nanos() as f64 / 1e9;
    Bytes as u64, "int": Bytes::get;
    RttSample as f64, "float": |sample| sample.value.as_nanos() as f64 / 1e9;
}

impl<T: Shown> Shown for Option<T> {
    type Python = Option<T::Python>;

    fn annotation() -> String {
        format!("{} | None", T::annotation())
    }

    #[inline]
    fn shown(&self, at: &Moment) -> Self::Python {
        self.as_ref().map(|value| value.shown(at))
    }
}

/// The type of an attribute: with `none` it may be `None`.
macro_rules! shown_type {
    ($type:ty) => { <$type as Shown>::Python };
    ($type:ty, none $when:literal) => { Option<<$type as Shown>::Python> };
}

/// The value of an attribute. See `control::signals`.
macro_rules! shown {
    ($value:expr, $at:expr) => {
        $value.shown($at)
    };
    ($value:expr, $at:expr, none $when:literal = $none:expr) => {
        ($value != $none).then(|| $value.shown($at))
    };
}

/// The classes of all signals.
macro_rules! classes {
    (
        moment { $($moment:tt)* }
        objects { $($objects:tt)* }
        parts { $($parts:tt)* }
    ) => {
        classes! { @context $($moment)* }
        classes! { @signals $($objects)* }

        /// The classes with their attributes and methods.
        pub(crate) fn described() -> Value {
            classes! { @described $($objects)* }
        }
    };
    (@described $(
        $(#[doc = $about:literal])+
        $name:ident { $($shown:tt)* }
        hidden { $($hidden:tt)* }
        computed { $($computed:tt)* }
        methods { $($methods:tt)* }
    )+) => {
        json!([
            Context::described(),
            $($name::described(),)+
        ])
    };
    (@signals $(
        $(#[doc = $about:literal])+
        $name:ident { $($shown:tt)* }
        hidden { $($hidden:tt)* }
        computed { $($computed:tt)* }
        methods { $($methods:tt)* }
    )+) => {$(
        $(#[doc = $about])+
        #[pyclass(frozen, module = "ackclock._engine")]
        pub(crate) struct $name(Rewritten<(control::$name, Moment)>);

        impl $name {
            pub(crate) fn new(signal: &control::$name, at: &Moment) -> Self {
                Self(Rewritten::new((*signal, *at)))
            }

            fn signal(&self) -> (&control::$name, &Moment) {
                let (signal, at) = self.0.get();
                (signal, at)
            }

            fn described() -> Value {
                json!({
                    "name": stringify!($name),
                    "about": concat!($($about),+),
                    "attributes": Self::attributes(),
                    "methods": Self::methods(),
                })
            }
        }

        impl Shown for control::$name {
            type Python = $name;

            fn annotation() -> String {
                stringify!($name).to_owned()
            }

            fn shown(&self, at: &Moment) -> $name {
                $name::new(self, at)
            }
        }

        classes! { @attributes $name control::$name { $($shown)* } { $($computed)* } { $($methods)* } {} }
    )+};
    (@context
        $(#[doc = $about:literal])+
        $name:ident { $($shown:tt)* }
        hidden { $($hidden:tt)* }
        computed { $($computed:tt)* }
        methods { $($methods:tt)* }
    ) => {
        classes! { @attributes Context Moment { $($shown)* } { $($computed)* } { $($methods)* } {
            fn random(&self, attached: Python<'_>) -> f64 {
                self.0.change(|(_, random)| random.uniform(), attached)
            }
        } }
    };
    (@attributes $class:ident $type:ty {
        $($(#[doc = $meaning:literal])+ $field:ident: $field_type:ty $(= $none:expr $(, none $when:literal)?)?;)*
    } {
        $($(#[doc = $computed_meaning:literal])+ $computed:ident: $computed_type:ty = $compute:expr;)*
    } {
        $($(#[doc = $method_meaning:literal])+ $method:ident: $method_type:ty = $call:expr;)*
    } { $($more:tt)* }) => {
        #[pymethods]
        impl $class {
            $(
                #[getter]
                fn $field(&self) -> shown_type!($field_type $($(, none $when)?)?) {
                    let (signal, at) = self.signal();
                    shown!(signal.$field, at $($(, none $when = $none)?)?)
                }
            )*
            $(
                #[getter]
                fn $computed(&self) -> <$computed_type as Shown>::Python {
                    let (signal, at) = self.signal();
                    let compute: fn(&$type, &Moment) -> $computed_type = $compute;
                    compute(signal, at).shown(at)
                }
            )*
            $(
                fn $method(&self) -> <$method_type as Shown>::Python {
                    let (signal, at) = self.signal();
                    let call: fn(&$type, &Moment) -> $method_type = $call;
                    call(signal, at).shown(at)
                }
            )*
            $($more)*
        }

        impl $class {
            fn attributes() -> Value {
                json!([
                    $({
                        "name": stringify!($field),
                        "type": <$field_type>::annotation(),
                        "meaning": concat!($($meaning),+),
                        "none": [$($($when)?)?],
                    },)*
                    $({
                        "name": stringify!($computed),
                        "type": <$computed_type>::annotation(),
                        "meaning": concat!($($computed_meaning),+),
                        "none": [],
                    },)*
                ])
            }

            fn methods() -> Value {
                json!([
                    $({
                        "name": stringify!($method),
                        "type": <$method_type>::annotation(),
                        "meaning": concat!($($method_meaning),+),
                    },)*
                ])
            }
        }
    };
}

/// The world while an event is handled: its moment, and the random stream of the flow, to be put back afterwards.
#[pyclass(frozen, module = "ackclock._engine")]
pub(crate) struct Context(Rewritten<(Moment, Random)>);

impl Context {
    pub(crate) fn new(cx: &control::Context<'_>) -> Self {
        Self(Rewritten::new((cx.moment, cx.random.clone())))
    }

    /// Takes the values of another event.
    pub(crate) fn set(&self, cx: &control::Context<'_>, attached: Python<'_>) {
        self.0.change(|known| *known = (cx.moment, cx.random.clone()), attached);
    }

    /// Puts the random stream back.
    pub(crate) fn put_back(&self, cx: &mut control::Context<'_>, _attached: Python<'_>) {
        cx.random.clone_from(&self.0.get().1);
    }

    fn described() -> Value {
        let random = "The next number of the random stream of the flow, in [0, 1): the same for the same seed.";
        let mut methods = Self::methods();
        if let Value::Array(methods) = &mut methods {
            methods.push(json!({ "name": "random", "type": "float", "meaning": random }));
        }
        json!({
            "name": "Context",
            "about": "The world while a controller handles an event.",
            "attributes": Self::attributes(),
            "methods": methods,
        })
    }

    fn signal(&self) -> (&Moment, &Moment) {
        let (moment, _) = self.0.get();
        (moment, moment)
    }
}

control::signals!(classes);

impl Ack {
    /// Becomes another ACK.
    pub(crate) fn set(&self, ack: &control::Ack, at: &Moment, attached: Python<'_>) {
        self.0.change(|known| *known = (*ack, *at), attached);
    }
}
