/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vector registers, kept where a probe calls code that may use them.
 *
 * A probed function gets arguments in them, and a caller in the same file may know which of them
 * the function leaves alone. The way of a hit does not touch them (the Makefile's PROBED objects);
 * what is rare does, and is enclosed by these. That costs some 50 ns.
 */
#ifndef WCPROF_VECTORS_H
#define WCPROF_VECTORS_H

#include <stdbool.h>
#include <stdint.h>

#include "probe_code.h"
#include "recorder.h"

enum {
	VECTORS_BYTES = 2688, /* as XSAVE lays them out, up to the last of AVX-512 */
	VECTORS_HEADER = 512, /* where its header of 64 bytes is, which must be zeros at first */
	VECTORS_KINDS = 0xe6  /* SSE, AVX, AVX-512 */
};

struct vectors {
	_Alignas(64) uint8_t bytes[VECTORS_BYTES];
};

/* Whether there are probes in this process, and so the others do anything. */
extern uint8_t vectors_matter HIDDEN;

/* Whether this machine can do it. */
static inline bool vectors_can(void)
{
	uint32_t a = 1, b, c = 0, d;

	__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return c >> 27 & 1; /* the system has turned XSAVE on */
}

static inline void vectors_save(struct vectors *vectors)
{
	if (!load_relaxed(&vectors_matter))
		return;
	for (uint32_t i = 0; i < 64; i += 8)
		*(volatile uint64_t *)(void *)&vectors->bytes[VECTORS_HEADER + i] = 0;
	__asm__ volatile("xsave64 %0" : "+m"(*vectors) : "a"(VECTORS_KINDS), "d"(0) : "memory");
}

/* The lower eight bytes of xmm0 to xmm15, for what is built without vector registers. */
static inline void vectors_read_lower(uint64_t lower[PROBE_VECTORS])
{
	__asm__ volatile("movq %%xmm0, 0(%0)\n\tmovq %%xmm1, 8(%0)\n\t"
			 "movq %%xmm2, 16(%0)\n\tmovq %%xmm3, 24(%0)\n\t"
			 "movq %%xmm4, 32(%0)\n\tmovq %%xmm5, 40(%0)\n\t"
			 "movq %%xmm6, 48(%0)\n\tmovq %%xmm7, 56(%0)\n\t"
			 "movq %%xmm8, 64(%0)\n\tmovq %%xmm9, 72(%0)\n\t"
			 "movq %%xmm10, 80(%0)\n\tmovq %%xmm11, 88(%0)\n\t"
			 "movq %%xmm12, 96(%0)\n\tmovq %%xmm13, 104(%0)\n\t"
			 "movq %%xmm14, 112(%0)\n\tmovq %%xmm15, 120(%0)"
			 :
			 : "r"(lower)
			 : "memory");
}

static inline void vectors_restore(const struct vectors *vectors)
{
	if (load_relaxed(&vectors_matter))
		__asm__ volatile("xrstor64 %0"
				 :
				 : "m"(*vectors), "a"(VECTORS_KINDS), "d"(0)
				 : "memory");
}

#endif
