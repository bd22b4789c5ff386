//! One entry an export: its function called for each invocation, the parameters taken by their own Rust types.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{c_char, c_void, CString};
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::sync::Once;

use super::warp;

/// What one invocation may own of a tile: an element, or neighbouring ones.
pub trait Fragment {
    /// The fragment that begins with element `at`.
    ///
    /// # Safety
    /// It lies within the array.
    unsafe fn within(array: *mut c_void, at: usize) -> *mut Self;
}

/// How a parameter is taken from the array of its tile.
pub trait Argument {
    /// # Safety
    /// The fragment that begins with element `at` lies within the array, and nobody else holds it.
    unsafe fn taken(array: *mut c_void, at: usize) -> Self;
}

/// What a function returns, stored in the array of the result.
pub trait Outcome {
    /// # Safety
    /// `array` gives an array in which element `at` lies.
    unsafe fn put(self, array: impl FnOnce() -> *mut c_void, at: usize);
}

impl Outcome for () {
    unsafe fn put(self, _: impl FnOnce() -> *mut c_void, _: usize) {}
}

macro_rules! elements {
    ($($element:ty)*) => { $(
        impl Fragment for $element {
            unsafe fn within(array: *mut c_void, at: usize) -> *mut Self {
                unsafe { array.cast::<$element>().add(at) }
            }
        }
        impl<const COUNT: usize> Fragment for [$element; COUNT] {
            unsafe fn within(array: *mut c_void, at: usize) -> *mut Self {
                unsafe { array.cast::<$element>().add(at).cast() }
            }
        }
        impl Argument for $element {
            unsafe fn taken(array: *mut c_void, at: usize) -> Self {
                unsafe { *Self::within(array, at) }
            }
        }
        impl Outcome for $element {
            unsafe fn put(self, array: impl FnOnce() -> *mut c_void, at: usize) {
                unsafe { *Self::within(array(), at) = self }
            }
        }
    )* };
}

elements! { f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 }
#[cfg(tilewright_f16)]
elements! { f16 }

impl<T: Fragment> Argument for &T {
    unsafe fn taken(array: *mut c_void, at: usize) -> Self {
        unsafe { &*T::within(array, at) }
    }
}

impl<T: Fragment> Argument for &mut T {
    unsafe fn taken(array: *mut c_void, at: usize) -> Self {
        unsafe { &mut *T::within(array, at) }
    }
}

/// The arrays of all parameters in order, that of a result last.
pub struct Tiles(*const *mut c_void);

// SAFETY: every invocation and every lane takes fragments of its own.
unsafe impl Sync for Tiles {}

impl Tiles {
    /// Parameter `number` of the invocation or lane whose fragments begin with element `at`.
    pub fn take<A: Argument>(&self, number: usize, at: usize) -> A {
        // SAFETY: `expected` counts as far as the arrays reach.
        unsafe { A::taken(*self.0.add(number), at) }
    }

    /// Stores what the function returned; `number` is that of the result, after all parameters.
    pub fn put(&self, outcome: impl Outcome, number: usize, at: usize) {
        // SAFETY: as above.
        unsafe { outcome.put(|| *self.0.add(number), at) }
    }
}

/// Calls `one` for every invocation, in lanes in lockstep for a warp. What went wrong, or "".
pub fn expected(
    tiles: *const *mut c_void,
    elements: usize,
    footprint: usize,
    lanes: bool,
    one: impl Fn(&Tiles, usize) + Sync,
) -> *const c_char {
    remember_panics();
    let tiles = Tiles(tiles);
    let one = |at| caught(|| one(&tiles, at)).map_err(|fault| fault.map(|words| format!("{words}, at element {at}")));
    let fault = if lanes {
        warp::run(elements, footprint, one)
    } else {
        (0..elements)
            .step_by(footprint)
            .find_map(|at| one(at).err().map(Option::unwrap_or_default))
    };
    said(fault.unwrap_or_default())
}

/// The panic of `body` in words, none where a lane only gave up after the fault of another.
fn caught(body: impl FnOnce()) -> Result<(), Option<String>> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| {
        let place = PANICKED.take();
        (!payload.is::<warp::GaveUp>()).then(|| format!("panicked{place}: {}", words(&*payload)))
    })
}

fn words(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

thread_local! {
    static PANICKED: RefCell<String> = const { RefCell::new(String::new()) };
    static SAID: RefCell<CString> = RefCell::default();
}

fn remember_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        set_hook(Box::new(|panic| {
            let place = panic.location().map(|at| format!(" at {at}")).unwrap_or_default();
            PANICKED.set(place);
        }));
    });
}

/// The words as C has them; they last until the thread's next call.
fn said(words: String) -> *const c_char {
    let words = CString::new(words.replace('\0', "?")).unwrap_or_default();
    SAID.set(words);
    SAID.with_borrow(|kept| kept.as_ptr())
}
