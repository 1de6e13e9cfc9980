// SPDX-License-Identifier: MIT
// One thread holds a lock of std::sync, which records no owner, for most of the time.
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

#[inline(never)]
fn keep() {
    let end = Instant::now() + Duration::from_millis(8);
    while Instant::now() < end {}
}

fn main() {
    let lock = Arc::new(Mutex::new(0u64));
    let other = lock.clone();
    let keeper = thread::spawn(move || {
        for _ in 0..30 {
            let mut guard = other.lock().unwrap();
            keep();
            *guard += 1;
            drop(guard);
            thread::sleep(Duration::from_millis(1));
        }
    });
    while !keeper.is_finished() {
        *lock.lock().unwrap() += 1;
        thread::sleep(Duration::from_micros(500));
    }
    keeper.join().unwrap();
}
