// SPDX-License-Identifier: Apache-2.0
// Answer: workers wait for the mutex of the cache in Cache::get() and put(), and for jobs in
// Queue::pop(). Rust's locks are futex calls of its own. Stops when it has done its jobs.
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

mod store {
    use super::*;

    pub struct Cache {
        pub values: Mutex<HashMap<u32, String>>,
    }

    impl Cache {
        #[inline(never)]
        pub fn get(&self, key: u32) -> Option<String> {
            let values = self.values.lock().unwrap();
            values.get(&key).map(|value| checked(value))
        }

        #[inline(never)]
        pub fn put(&self, key: u32, value: String) {
            let mut values = self.values.lock().unwrap();
            let value = checked(&value);
            values.insert(key, value);
        }
    }

    #[inline(never)]
    fn checked(value: &str) -> String {
        let mut sum = 0u32;
        for _ in 0..200 {
            for byte in value.bytes() {
                sum = sum.wrapping_mul(31).wrapping_add(u32::from(byte));
            }
        }
        if sum == 1 { String::from("!") } else { value.to_string() }
    }

    pub struct Queue {
        pub jobs: Mutex<VecDeque<i32>>,
        pub filled: Condvar,
    }

    impl Queue {
        #[inline(never)]
        pub fn push(&self, job: i32) {
            self.jobs.lock().unwrap().push_back(job);
            self.filled.notify_one();
        }

        #[inline(never)]
        pub fn pop(&self) -> i32 {
            let mut jobs = self.jobs.lock().unwrap();
            while jobs.is_empty() {
                jobs = self.filled.wait(jobs).unwrap();
            }
            jobs.pop_front().unwrap()
        }
    }
}

#[inline(never)]
fn load_record(job: i32) -> String {
    let mut text = String::new();
    let _ = File::open("/proc/self/stat").and_then(|mut file| file.read_to_string(&mut text));
    format!("{}{}", text, job)
}

#[inline(never)]
fn work(cache: &store::Cache, queue: &store::Queue) {
    loop {
        let job = queue.pop();
        if job < 0 {
            return;
        }
        if cache.get(job as u32 % 50).is_none() || job % 10 == 0 {
            cache.put(job as u32 % 50, load_record(job));
        }
    }
}

fn main() {
    let cache = Arc::new(store::Cache { values: Mutex::new(HashMap::new()) });
    let queue = Arc::new(store::Queue { jobs: Mutex::new(VecDeque::new()), filled: Condvar::new() });
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let (cache, queue) = (cache.clone(), queue.clone());
            thread::spawn(move || work(&cache, &queue))
        })
        .collect();
    for job in 0..4000 {
        queue.push(job);
    }
    for _ in 0..4 {
        queue.push(-1);
    }
    for worker in workers {
        worker.join().unwrap();
    }
    println!("done");
}
