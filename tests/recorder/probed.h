/* SPDX-License-Identifier: Apache-2.0 */
/* Functions whose bytes are known, and orders to probe them, for the tests of probes. */
#ifndef WCPROF_TESTS_PROBED_H
#define WCPROF_TESTS_PROBED_H

#include <string.h>

#include "probe_order.h"

int probed(int number);
__asm__(".pushsection .text\n"
	".p2align 4\n"
	".globl probed\n"
	".type probed, @function\n"
	"probed:\n"
	"	push %rbx\n"
	"	mov %edi, %ebx\n"
	"	lea 1(%rbx), %eax\n"
	"	pop %rbx\n"
	"	ret\n"
	".size probed, . - probed\n"
	".popsection\n");

/* As the command plans it: the first three instructions, and a jump to the fourth. */
static inline struct probe_order probed_order(void)
{
	struct probe_order order = {
		.bytes = sizeof(order),
		.version = FORMAT_VERSION,
		.address = (uint64_t)(uintptr_t)probed,
		.place = (uint64_t)(uintptr_t)probed,
		.old_bytes = 6,
		.moved_bytes = 11,
		.fixup_count = 1,
		.mark_count = 2,
		.moved = { 0x53, 0x89, 0xfb, 0x8d, 0x43, 0x01, 0xe9, 0xfb, 0xff, 0xff, 0xff },
		.fixups = { 7 },
		.marks = { { 1, 1 }, { 3, 3 } },
		.name = "probed",
	};

	memcpy(order.old, order.moved, 6);
	return order;
}

/* Has numbers below its stack pointer and flags that are asked for behind the place, the nop. */
int passed(int number);
__asm__(".pushsection .text\n"
	".p2align 4\n"
	".globl passed\n"
	".type passed, @function\n"
	"passed:\n"
	"	mov %edi, -8(%rsp)\n"
	"	cmp $10, %edi\n"
	"	nop\n"
	"	mov -8(%rsp), %eax\n"
	"	jl 1f\n"
	"	neg %eax\n"
	"1:	ret\n"
	".size passed, . - passed\n"
	".popsection\n");
enum { PASSED_PLACE = 7 };

/* The jump is at the compare. Before the stub that is run, behind it the nop and the load. */
static inline struct probe_order passed_order(void)
{
	static const uint8_t before[] = { 0x83, 0xff, 0x0a },
			     after[] = { 0x90, 0x8b, 0x44, 0x24, 0xf8, 0xe9 };
	struct probe_order order = {
		.bytes = sizeof(order),
		.version = FORMAT_VERSION,
		.sight = PROBE_SEES_A_MOMENT,
		.address = (uint64_t)(uintptr_t)passed + PASSED_PLACE - sizeof(before),
		.place = (uint64_t)(uintptr_t)passed + PASSED_PLACE,
		.old_bytes = 8,
		.moved_bytes = 8 + PROBE_STUB_BYTES + PROBE_JUMP_BYTES,
		.stub_at = sizeof(before),
		.fixup_count = 1,
		.fixups = { 8 + PROBE_STUB_BYTES + 1 },
		.mark_count = 2,
		.marks = { { 3, 3 }, { 4, 3 + PROBE_STUB_BYTES + 1 } },
		.name = "passed",
	};
	const int32_t back = 8 - order.moved_bytes;

	memcpy(order.old, before, sizeof(before));
	memcpy(order.old + sizeof(before), after, 5);
	memcpy(order.moved, before, sizeof(before));
	memset(order.moved + sizeof(before), 0x90, PROBE_STUB_BYTES);
	memcpy(order.moved + sizeof(before) + PROBE_STUB_BYTES, after, sizeof(after));
	memcpy(order.moved + order.fixups[0], &back, sizeof(back));
	return order;
}

#endif
