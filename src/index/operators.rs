//! The SQL functions behind the operator class: distance, radius, ball.

use crate::errors::or_raise;
use simhash_hamming::ball::{Ball, NEAR};
use simhash_pg::sql::fmgr::{Args, pg_function};
use simhash_pg::sql::message::{Message, MessageReader};
use std::ffi::CString;

fn distance(args: &Args) -> i32 {
    (args.by_value(0) ^ args.by_value(1)).count_ones() as i32
}

/// Returns argument `i` of a STRICT function.
fn ball(args: &Args, i: usize) -> Ball {
    Ball::from_bytes(args.fixed(i).unwrap_or_default())
}

pg_function! {
    /// hamming(bigint, bigint) -> int: differing bits, 0 to 64.
    fn simhash_hamming, pg_finfo_simhash_hamming(args) { args.result(Some(distance(args))) }
}

pg_function! {
    /// hamming_within(bigint, bigint, int) -> boolean.
    fn simhash_hamming_within, pg_finfo_simhash_hamming_within(args) {
        args.result(Some(distance(args) <= args.by_value(2) as i32))
    }
}

pg_function! {
    /// hamming_near(bigint, bigint) -> boolean: the operator ~=.
    fn simhash_near, pg_finfo_simhash_near(args) { args.result(Some(distance(args) <= NEAR)) }
}

pg_function! {
    /// hamming_ball(centre bigint, radius int) -> hamming_ball.
    fn simhash_ball_make, pg_finfo_simhash_ball_make(args) {
        args.fixed_result(Ball::new(args.by_value(0) as i64, args.by_value(1) as i32))
    }
}

pg_function! {
    /// hamming_ball_contains(bigint, hamming_ball) -> boolean: the operator <@.
    fn simhash_ball_contains, pg_finfo_simhash_ball_contains(args) {
        args.result(Some(ball(args, 1).contains(args.by_value(0) as i64)))
    }
}

pg_function! {
    /// Text input of hamming_ball.
    fn simhash_ball_in, pg_finfo_simhash_ball_in(args) {
        let text = args.c_string(0).unwrap_or_default().to_string_lossy();
        args.fixed_result::<Ball>(or_raise(text.parse()))
    }
}

pg_function! {
    /// Text output of hamming_ball.
    fn simhash_ball_out, pg_finfo_simhash_ball_out(args) {
        let text = CString::new(ball(args, 0).to_string()).unwrap_or_default();
        args.result(Some(text.as_c_str()))
    }
}

pg_function! {
    /// Binary input of hamming_ball: centre (8 bytes) and radius (4 bytes), big-endian.
    fn simhash_ball_recv, pg_finfo_simhash_ball_recv(args) {
        let mut message = MessageReader::from_arguments(args);
        let centre = message.i64();
        args.fixed_result(Ball::new(centre, message.i32()))
    }
}

pg_function! {
    /// Binary output of hamming_ball.
    fn simhash_ball_send, pg_finfo_simhash_ball_send(args) {
        let ball = ball(args, 0);
        args.result(Some(Message::new().i64(ball.centre).i32(ball.radius)))
    }
}
