/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if work is taken for waiting, or waiting on a CPU for work. */
#include "names/spinloop.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

#define CODE(...) { __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ })

static const struct {
	const char *name;
	uint8_t code[64];
	size_t bytes;
	size_t at;
	bool is_spin;
} rows[] = {
	/* mov (%rdi),%eax; test %eax,%eax; je: the first instruction, the last, and inside one */
	/* 0 */ { "load", CODE(0x8b, 0x07, 0x85, 0xc0, 0x74, 0xfa), 0, true },
	/* 1 */ { "load", CODE(0x8b, 0x07, 0x85, 0xc0, 0x74, 0xfa), 4, true },
	/* 2 */ { "load", CODE(0x8b, 0x07, 0x85, 0xc0, 0x74, 0xfa), 1, false },
	/* cmpl $0,(%rdi); ret after it */
	/* 3 */ { "compare", CODE(0x83, 0x3f, 0x00, 0x74, 0xfb, 0xc3), 0, true },
	/* pause; mov 0(%rip),%eax; cmp $1,%eax; jne */
	/* 4 */
	{ "pause", CODE(0xf3, 0x90, 0x8b, 0x05, 0, 0, 0, 0, 0x83, 0xf8, 0x01, 0x75, 0xf3), 2,
	  true },
	/* without optimisation: the pointer and the value are in the frame */
	/* 5 */
	{ "frame",
	  CODE(0x48, 0x8b, 0x45, 0xf8, 0x8b, 0x00, 0x89, 0x45, 0xf4, 0x83, 0x7d, 0xf4, 0x00, 0x74,
	       0xf1),
	  4, true },
	/* the pointer in the frame is another one each time: mov %rax,-8(%rbp) */
	/* 6 */
	{ "frame list",
	  CODE(0x48, 0x8b, 0x45, 0xf8, 0x48, 0x8b, 0x00, 0x48, 0x89, 0x45, 0xf8, 0x48, 0x85, 0xc0,
	       0x75, 0xf0),
	  4, false },
	/* 7: mov (%rax),%rax; test %rax,%rax; jne */
	{ "list", CODE(0x48, 0x8b, 0x00, 0x48, 0x85, 0xc0, 0x75, 0xf8), 0, false },
	/* 8: inc %rcx; cmpb $0,(%rdi,%rcx); jne */
	{ "string", CODE(0x48, 0xff, 0xc1, 0x80, 0x3c, 0x0f, 0x00, 0x75, 0xf7), 0, false },
	/* 9: a shift is work */
	{ "xorshift", CODE(0x48, 0x89, 0xc2, 0x48, 0xc1, 0xe2, 0x0d, 0x48, 0x31, 0xd0, 0x75, 0xf4),
	  0, false },
	/* 10: add $1,%eax; cmp %edi,%eax; jne: reads nothing */
	{ "count", CODE(0x83, 0xc0, 0x01, 0x39, 0xf8, 0x75, 0xf9), 0, false },
	/* 11: the same in the frame: addl $1,-4(%rbp); cmpl $9,-4(%rbp); jle */
	{ "frame count", CODE(0x83, 0x45, 0xfc, 0x01, 0x83, 0x7d, 0xfc, 0x09, 0x7e, 0xf6), 4,
	  false },
	/* 12: pause; sub $1,%eax; jne */
	{ "pauses", CODE(0xf3, 0x90, 0x83, 0xe8, 0x01, 0x75, 0xf9), 0, true },
	/* 13: mov %edx,%eax; xchg %al,(%rdi); test %al,%al; jne */
	{ "exchange", CODE(0x89, 0xd0, 0x86, 0x07, 0x84, 0xc0, 0x75, 0xf8), 2, true },
	/* 14: xor %eax,%eax; lock cmpxchg %edx,(%rdi); jne */
	{ "lock", CODE(0x31, 0xc0, 0xf0, 0x0f, 0xb1, 0x17, 0x75, 0xf8), 2, true },
	/* 15: mov %ecx,(%rdi) before the look: it writes what others read */
	{ "store", CODE(0x89, 0x0f, 0x8b, 0x06, 0x85, 0xc0, 0x74, 0xf8), 2, false },
	/* 16: a call */
	{ "call", CODE(0xe8, 0, 0, 0, 0, 0x8b, 0x07, 0x85, 0xc0, 0x74, 0xf5), 5, false },
	/* 17: looks, then a loop of pauses: mov (%rdi),%eax; [pause; dec %ecx; jne]; test; je */
	{ "both", CODE(0x8b, 0x07, 0xf3, 0x90, 0xff, 0xc9, 0x75, 0xfa, 0x85, 0xc0, 0x74, 0xf4), 0,
	  true },
	/* 18: jump out in the middle, jump back without condition at the end */
	{ "exit", CODE(0x8b, 0x07, 0x85, 0xc0, 0x75, 0x02, 0xeb, 0xf8, 0xc3), 0, true },
	/* 19: the end is missing */
	{ "short", CODE(0x8b, 0x07, 0x85, 0xc0, 0x74), 0, false },
	/* 20: the jump leads to before the code that is known */
	{ "before", CODE(0x8b, 0x07, 0x85, 0xc0, 0x74, 0xf0), 0, false },
	/* 21: movzbl (%rdi,%rsi),%eax with fixed registers; test %al,%al; jne rel32 */
	{ "long jump", CODE(0x0f, 0xb6, 0x04, 0x37, 0x84, 0xc0, 0x0f, 0x85, 0xf4, 0xff, 0xff, 0xff),
	  0, true },
};

START_TEST(waiting_is_told_from_work)
{
	ck_assert_msg(spinloop_is_at(rows[_i].code, rows[_i].bytes, rows[_i].at) ==
			      rows[_i].is_spin,
		      "row %d: %s", _i, rows[_i].name);
}
END_TEST

/* Whatever the bytes are, nothing outside of them is read. */
START_TEST(any_bytes_may_be_given)
{
	uint32_t state = 1;

	for (int round = 0; round < 200000; round++) {
		size_t bytes = 1 + state % 40;
		uint8_t *code = malloc(bytes);

		for (size_t i = 0; i < bytes; i++) {
			state = state * 1664525 + 1013904223;
			/* mostly bytes that mean something here */
			code[i] = state >> 31 ? (uint8_t)(state >> 8)
					      : rows[(state >> 8) % 22].code[(state >> 16) % 8];
		}
		for (size_t at = 0; at < bytes; at++)
			(void)spinloop_is_at(code, bytes, at);
		free(code);
	}
}
END_TEST

SUITE()
{
	EACH(waiting_is_told_from_work, rows);
	TEST(any_bytes_may_be_given);
}
