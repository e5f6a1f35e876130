/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only atomic operations of this folder, named by their order, for 32 and 64-bit integers and
 * pointers.
 *
 * load_acquire sees everything that was written before the store_release whose value it returns.
 * There are no fences: where two plain stores must not swap, the second one is a store_release.
 */
#ifndef WCPROF_ATOMICS_H
#define WCPROF_ATOMICS_H

#include <stdbool.h>
#include <stdint.h>

#define load_relaxed(p)        __atomic_load_n((p), __ATOMIC_RELAXED)
#define load_acquire(p)        __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store_relaxed(p, v)    __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define store_release(p, v)    __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define add_relaxed(p, v)      __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define add_seq_cst(p, v)      __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define load_seq_cst(p)        __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define or_release(p, v)       __atomic_fetch_or((p), (v), __ATOMIC_RELEASE)
#define or_acq_rel(p, v)       __atomic_fetch_or((p), (v), __ATOMIC_ACQ_REL)
#define xor_acq_rel(p, v)      __atomic_fetch_xor((p), (v), __ATOMIC_ACQ_REL)
#define and_release(p, v)      __atomic_fetch_and((p), (v), __ATOMIC_RELEASE)
#define exchange_acq_rel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
/* True when *p was *expected and is now `desired`; else *expected is what was found. */
#define cas_acq_rel(p, expected, desired)                                                \
	__atomic_compare_exchange_n((p), (expected), (desired), false, __ATOMIC_ACQ_REL, \
				    __ATOMIC_ACQUIRE)
/*
 * Adds to what only this thread adds to, and its signal handlers. One instruction, so a handler
 * comes before it or behind it; without a lock, which would take as long as a dozen others.
 */
static inline void add_own(uint64_t *p, uint64_t v)
{
#ifdef __x86_64__
	__asm__ volatile("addq %1, %0" : "+m"(*p) : "er"(v) : "cc");
#else
	(void)add_relaxed(p, v);
#endif
}
/* Keeps the compiler, and with it a signal handler on this thread, to the order of the text. */
#define order_for_handlers() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif
