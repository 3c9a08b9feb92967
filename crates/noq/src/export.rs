//! The table of an object with this stack, and the ways to make the controller of a user.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Instant;

use crate::proto::congestion::{Controller, ControllerFactory};

/// Makes a controller for a connection that begins, with packets of so many bytes.
pub type Make = fn(Instant, u16) -> Box<dyn Controller>;

/// A type of the user, by its name.
#[derive(Debug)]
pub struct Named<T>(pub PhantomData<T>);

/// A factory of controllers.
pub trait ByFactory {
    /// Lets the factory make one.
    fn make(&self, now: Instant, packet_size: u16) -> Box<dyn Controller>;
}

/// A controller with a default.
pub trait ByDefault {
    /// Makes the default.
    fn make(&self, now: Instant, packet_size: u16) -> Box<dyn Controller>;
}

impl<T: ControllerFactory + Default> ByFactory for Named<T> {
    fn make(&self, now: Instant, packet_size: u16) -> Box<dyn Controller> {
        Arc::new(T::default()).build(now, packet_size)
    }
}

// A reference more: the compiler takes it where a type is no factory.
impl<T: Controller + Default + 'static> ByDefault for &Named<T> {
    fn make(&self, _now: Instant, _packet_size: u16) -> Box<dyn Controller> {
        Box::new(T::default())
    }
}

/// Makes a shared object of this crate that holds the stack, and the controller of a type that is a
/// `ControllerFactory` or a `Controller`, and has a `Default`.
#[macro_export]
macro_rules! export {
    () => {
        $crate::export!(@table None);
    };
    (@table $mine:expr) => {
        $crate::stack::export!($crate::Exported { mine: $mine });
    };
    ($mine:ty) => {
        $crate::export!(@table Some(|now, size| {
            use $crate::{ByDefault as _, ByFactory as _};
            (&$crate::Named::<$mine>(::std::marker::PhantomData)).make(now, size)
        }));
    };
}
