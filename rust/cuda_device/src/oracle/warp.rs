//! Thirty-two threads in lockstep: one runs at a time, until it calls an operation of the warp, then the next.
//!
//! The lanes of a mask go on when all of them have come. So divergent code behaves as on a GPU, and lanes that wait in
//! vain are found.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

const LANES: usize = 32;
const END: &str = "the end of the function";

/// Why a lane unwinds after another one's fault.
pub struct GaveUp;

/// What travels between lanes: 32 bits.
pub trait Word {
    fn word(self) -> u32;
    fn of(word: u32) -> Self;
}

macro_rules! words {
    ($($kind:ty: $value:ident => $word:expr, $bits:ident => $of:expr;)*) => { $(
        impl Word for $kind {
            fn word(self) -> u32 {
                let $value = self;
                $word
            }
            fn of($bits: u32) -> Self {
                $of
            }
        }
    )* };
}

words! {
    u32: value => value, bits => bits;
    i32: value => value as u32, bits => bits as i32;
    f32: value => value.to_bits(), bits => f32::from_bits(bits);
}

impl Word for () {
    fn word(self) -> u32 {
        0
    }
    fn of(_: u32) -> Self {}
}

#[derive(Clone, Copy)]
struct Call {
    operation: &'static str,
    mask: u32,
    value: u32,
    operand: u32,
}

#[derive(Default)]
struct State {
    running: usize,
    finished: u32,
    waiting: [Option<Call>; LANES],
    results: [u32; LANES],
    fault: Option<String>,
}

struct Warp {
    state: Mutex<State>,
    turns: [Condvar; LANES],
}

thread_local! {
    static LANE: Cell<Option<(*const Warp, usize)>> = const { Cell::new(None) };
}

/// Runs `one` with the first element of every lane of every warp. What went wrong.
pub fn run(
    elements: usize,
    footprint: usize,
    one: impl Fn(usize) -> Result<(), Option<String>> + Sync,
) -> Option<String> {
    let warp = Warp {
        state: Mutex::default(),
        turns: [const { Condvar::new() }; LANES],
    };
    thread::scope(|scope| {
        for lane in 0..LANES {
            let (warp, one) = (&warp, &one);
            scope.spawn(move || {
                LANE.set(Some((warp, lane)));
                let mut firsts = (lane * footprint..elements).step_by(LANES * footprint);
                if warp.begin(lane) && firsts.all(|first| warp.invocation(lane, one(first))) {
                    warp.leave(lane);
                }
            });
        }
    });
    warp.state.into_inner().unwrap_or_else(PoisonError::into_inner).fault
}

/// An operation of the GPU, by its public name; the words are its arguments.
#[track_caller]
pub fn operation(name: &'static str, words: &[u32]) -> u32 {
    if name.starts_with("thread::") {
        panic!("`{name}` depends on the launch of the tile kernel, so that nothing can be expected of it");
    }
    let Some((warp, lane)) = LANE.get() else {
        panic!("`{name}` needs a warp, and the export does not say sync = \"warp\"");
    };
    let [mask, ref operands @ ..] = *words else {
        return lane as u32;
    };
    let operand = |number: usize| operands.get(number).copied().unwrap_or_default();
    let call = Call {
        operation: name,
        mask,
        value: operand(0),
        operand: operand(1),
    };
    // SAFETY: `run` keeps the warp until all of its threads have ended.
    let result = unsafe { &*warp }.exchange(lane, call);
    result.unwrap_or_else(|| resume_unwind(Box::new(GaveUp)))
}

impl Warp {
    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the lane's first turn; whether there is one.
    fn begin(&self, lane: usize) -> bool {
        self.turn(lane, self.locked()).fault.is_none()
    }

    /// Ends an invocation, which all lanes do together; whether there may be another.
    fn invocation(&self, lane: usize, done: Result<(), Option<String>>) -> bool {
        if let Err(fault) = done {
            if let Some(words) = fault {
                self.give_up(&mut self.locked(), format!("lane {lane} {words}"));
            }
            return false;
        }
        let end = Call {
            operation: END,
            mask: u32::MAX,
            value: 0,
            operand: 0,
        };
        self.exchange(lane, end).is_some()
    }

    fn leave(&self, lane: usize) {
        let mut state = self.locked();
        state.finished |= 1 << lane;
        self.pass(lane, &mut state);
    }

    /// The lane's result, when all lanes of the mask have called the same operation; none after a fault.
    fn exchange(&self, lane: usize, call: Call) -> Option<u32> {
        let mut state = self.locked();
        if state.fault.is_none() && call.mask >> lane & 1 == 0 {
            self.give_up(
                &mut state,
                format!("`{}`: lane {lane} is not in its own mask", call.operation),
            );
        }
        if state.fault.is_some() {
            return None;
        }
        state.waiting[lane] = Some(call);
        state.release(call);
        self.pass(lane, &mut state);
        let state = self.turn(lane, state);
        state.fault.is_none().then_some(state.results[lane])
    }

    fn turn<'a>(&'a self, lane: usize, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        while state.running != lane && state.fault.is_none() {
            state = self.turns[lane].wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Lets the next lane run that waits for nobody.
    fn pass(&self, lane: usize, state: &mut State) {
        let ready = |other: &usize| state.waiting[*other].is_none() && state.finished >> *other & 1 == 0;
        if let Some(next) = (1..=LANES).map(|step| (lane + step) % LANES).find(ready) {
            state.running = next;
            self.turns[next].notify_one();
        } else if let Some(words) = state.waiting_in_vain() {
            self.give_up(state, words);
        }
    }

    fn give_up(&self, state: &mut State, words: String) {
        state.fault.get_or_insert(words);
        self.turns.iter().for_each(Condvar::notify_all);
    }
}

impl State {
    fn release(&mut self, call: Call) {
        let members = || (0..LANES).filter(|lane| call.mask >> lane & 1 == 1);
        let together = |other: &Call| other.operation == call.operation && other.mask == call.mask;
        if !members().all(|lane| self.waiting[lane].as_ref().is_some_and(together)) {
            return;
        }
        let calls = self.waiting;
        for lane in members() {
            self.results[lane] = result(lane, &calls, call.mask);
            self.waiting[lane] = None;
        }
    }

    fn waiting_in_vain(&self) -> Option<String> {
        let calls = || self.waiting.iter().enumerate();
        let (lane, call) =
            calls().find_map(|(lane, call)| call.filter(|call| call.operation != END).map(|call| (lane, call)))?;
        Some(format!(
            "lane {lane} waits in `{}` for lanes that never come",
            call.operation
        ))
    }
}

/// What a lane of the mask gets. PTX ISA: shfl.sync, vote.sync.
fn result(lane: usize, calls: &[Option<Call>; LANES], mask: u32) -> u32 {
    let Some(own) = calls[lane] else { return 0 };
    let value = |other: usize| match calls[other] {
        Some(call) if mask >> other & 1 == 1 => call.value,
        _ => own.value,
    };
    let holding = || {
        (0..LANES).fold(0, |bits, other| {
            bits | u32::from(mask >> other & 1 == 1 && value(other) != 0) << other
        })
    };
    let step = (own.operand % LANES as u32) as usize;
    match own.operation {
        "warp::ballot" => holding(),
        "warp::any" => u32::from(holding() != 0),
        "warp::all" => u32::from(holding() == mask),
        "warp::sync" | END => 0,
        name if name.starts_with("warp::shuffle_xor_") => value(lane ^ step),
        name if name.starts_with("warp::shuffle_up_") => value(lane.checked_sub(step).unwrap_or(lane)),
        name if name.starts_with("warp::shuffle_down_") => value(if lane + step < LANES { lane + step } else { lane }),
        name if name.starts_with("warp::shuffle_") => value(step),
        name => unreachable!("`{name}` is no operation of a warp"),
    }
}
