// SPDX-License-Identifier: Apache-2.0
// Parameters of Rust: test_variables.c says how.
use std::hint::black_box;

pub struct Query {
    pub len: u64,
    pub rank: i16,
    pub deep: bool,
}

#[inline(never)]
pub fn numbers(a: i8, b: u32, c: i64, flag: bool) -> i64 {
    black_box(a as i64 + b as i64 + c + flag as i64)
}

#[inline(never)]
pub fn borrowed(q: &Query, n: u16) -> u64 {
    black_box(q.len + n as u64)
}

#[inline(never)]
pub fn text(s: &str, n: i32) -> usize {
    black_box(s.len() + n as usize)
}

fn main() {
    let q = Query { len: 777, rank: -5, deep: true };
    black_box(numbers(-3, 4000000000, -5000000000, true));
    black_box(borrowed(&q, 9));
    black_box(text(black_box("hello"), black_box(4)));
    black_box(q.rank as i32 + q.deep as i32);
}
