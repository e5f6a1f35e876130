/* SPDX-License-Identifier: Apache-2.0 */
/* A function whose bytes are known, and an order to probe it, for the tests of probes. */
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

#endif
