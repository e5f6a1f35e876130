/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if work is taken for waiting, or waiting on a CPU for work. */
#include "names/spinloop.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

#define CODE(...) { __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ })

struct row {
	const char *name;
	uint8_t code[64];
	size_t bytes;
	size_t at;
	bool is_spin;
};

/* rbp points to the frame. */
static const struct row rows[] = {
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
	/* 22: add $1,%eax; cmp %eax,(%rdi); jne: counts up to what is in memory */
	{ "count to", CODE(0x83, 0xc0, 0x01, 0x39, 0x07, 0x75, 0xf9), 3, false },
	/* 23: a flag of the own frame that others were told of: mov 12(%rsp),%eax; test; je */
	{ "own flag", CODE(0x8b, 0x44, 0x24, 0x0c, 0x85, 0xc0, 0x74, 0xf8), 0, true },
	/* 24: mov 12(%rsp),%eax; add $1,%eax; mov %eax,12(%rsp); cmp $9,%eax; jle */
	{ "own count",
	  CODE(0x8b, 0x44, 0x24, 0x0c, 0x83, 0xc0, 0x01, 0x89, 0x44, 0x24, 0x0c, 0x83, 0xf8, 0x09,
	       0x7e, 0xf0),
	  4, false },
	/* 25: no longer than so often: mov (%rdi),%eax; test; jne; add $1,%ecx; cmp $9,%ecx; jne */
	{ "bounded",
	  CODE(0x8b, 0x07, 0x85, 0xc0, 0x75, 0x08, 0x83, 0xc1, 0x01, 0x83, 0xf9, 0x09, 0x75, 0xf2),
	  6, true },
	/* 26: one bit: mov (%rdi),%eax; and $1,%eax; je */
	{ "bit", CODE(0x8b, 0x07, 0x83, 0xe0, 0x01, 0x74, 0xf9), 2, true },
	/* 27: mov $1,%eax; xchg %eax,(%rdi); test %eax,%eax; jne */
	{ "number", CODE(0xb8, 1, 0, 0, 0, 0x87, 0x07, 0x85, 0xc0, 0x75, 0xf5), 5, true },
	/* 28: mov (%rdi),%eax; sete %dl; movzbl %dl,%edx; test; je: what it set before */
	{ "late", CODE(0x85, 0xc9, 0x0f, 0x94, 0xc2, 0x0f, 0xb6, 0xca, 0x85, 0xc9, 0x74, 0xf4), 2,
	  false },
};

/* rbp is a register like others. */
static const struct row frameless[] = {
	/* 0: mov 0(%rbp),%eax; test %eax,%eax; je: rbp is a pointer */
	{ "rbp", CODE(0x8b, 0x45, 0x00, 0x85, 0xc0, 0x74, 0xf9), 3, true },
	/* 1: as 5, but nobody says that rbp is the frame: a store for others */
	{ "rbp store",
	  CODE(0x48, 0x8b, 0x45, 0xf8, 0x8b, 0x00, 0x89, 0x45, 0xf4, 0x83, 0x7d, 0xf4, 0x00, 0x74,
	       0xf1),
	  4, false },
	/* 2: mov (%rbp),%rbp; test %rbp,%rbp; jne */
	{ "rbp list", CODE(0x48, 0x8b, 0x6d, 0x00, 0x48, 0x85, 0xed, 0x75, 0xf7), 4, false },
};

static const struct {
	uint8_t code[12];
	size_t bytes;
	bool has_frame;
} functions[] = {
	/* 0: push %rbp; mov %rsp,%rbp */ { CODE(0x55, 0x48, 0x89, 0xe5, 0xc3), true },
	/* 1: endbr64 before it */
	{ CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5), true },
	/* 2: the other encoding */ { CODE(0x55, 0x48, 0x8b, 0xec), true },
	/* 3: push %rbp; mov %rdi,%rbp */ { CODE(0x55, 0x48, 0x89, 0xfd, 0xc3), false },
	/* 4: the end is missing */ { CODE(0x55, 0x48, 0x89), false },
};

START_TEST(a_frame_is_set_up_from_the_stack)
{
	ck_assert_msg(spinloop_has_frame(functions[_i].code, functions[_i].bytes) ==
			      functions[_i].has_frame,
		      "row %d", _i);
}
END_TEST

static void expect(const struct row *row, int number, bool has_frame)
{
	ck_assert_msg(spinloop_is_at(row->code, row->bytes, row->at, has_frame) == row->is_spin,
		      "row %d: %s", number, row->name);
}

START_TEST(a_register_is_the_frame_only_if_it_was_set_up)
{
	expect(&frameless[_i], _i, false);
}
END_TEST

START_TEST(waiting_is_told_from_work)
{
	expect(&rows[_i], _i, true);
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
			(void)spinloop_is_at(code, bytes, at, at % 2);
		free(code);
	}
}
END_TEST

SUITE()
{
	EACH(waiting_is_told_from_work, rows);
	EACH(a_register_is_the_frame_only_if_it_was_set_up, frameless);
	EACH(a_frame_is_set_up_from_the_stack, functions);
	TEST(any_bytes_may_be_given);
}
