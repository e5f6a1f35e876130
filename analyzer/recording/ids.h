/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids of traces and spans: for which ones a thread works, from each of its contexts to the next.
 *
 * Reads only. Any thread.
 */
#ifndef WCPROF_IDS_H
#define WCPROF_IDS_H

#include "recording.h"

/* As text, with its end. */
enum { IDS_TRACE_BYTES = 33, IDS_SPAN_BYTES = 17 };

/* The contexts of one thread, in order of time; NULL: there are none. */
const struct rec_context *ids_of_thread(const struct recording *, uint32_t thread, size_t *count);

/* In force at that time; zeros: the thread works for no trace, or it is not known. */
struct rec_ids ids_at(const struct recording *, uint32_t thread, uint64_t at_ns);
/* When others come into force; UINT64_MAX = not as far as the recording goes. */
uint64_t ids_change_after(const struct recording *, uint32_t thread, uint64_t at_ns);
/* The first ones in this time that have a trace; else zeros. */
struct rec_ids ids_within(const struct recording *, uint32_t thread, uint64_t from_ns,
			  uint64_t to_ns);

static inline bool ids_have_trace(const struct rec_ids *ids)
{
	return (ids->trace[0] | ids->trace[1]) != 0;
}

static inline bool ids_are_same(const struct rec_ids *a, const struct rec_ids *b)
{
	return a->trace[0] == b->trace[0] && a->trace[1] == b->trace[1] && a->span == b->span;
}

/* Digits as W3C Trace Context has them; "" for none. */
void ids_trace_text(char text[IDS_TRACE_BYTES], const uint64_t trace[2]);
void ids_span_text(char text[IDS_SPAN_BYTES], uint64_t span);

#endif
