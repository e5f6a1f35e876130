/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer expected: threads that work for traces, and say so by OpenTelemetry's record for threads
 * ("published") or to wcprof ("said").
 */
#include "traced.h"
#include "wcprof.h"

struct published {
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t valid;
	uint8_t flags;
	uint16_t attribute_bytes;
} __attribute__((packed));

__attribute__((visibility("default"))) extern __thread struct published *otel_thread_ctx_v1;
__thread struct published *otel_thread_ctx_v1;

static void publish_own(const uint8_t *trace_id, const uint8_t *span_id)
{
	static __thread struct published record;

	otel_thread_ctx_v1 = NULL;
	if (!trace_id)
		return;
	record.valid = 0;
	memcpy(record.trace_id, trace_id, sizeof(record.trace_id));
	memcpy(record.span_id, span_id, sizeof(record.span_id));
	record.valid = 1;
	otel_thread_ctx_v1 = &record;
}

static void say_own(const uint8_t *trace_id, const uint8_t *span_id)
{
	wcprof_trace(trace_id, span_id);
}

static void published(void)
{
	publish = publish_own;
	work_on_threads();
}

static void said(void)
{
	publish = say_own;
	work_on_threads();
}

static const struct scenario scenarios[] = { { "published", published }, { "said", said } };

SCENARIOS_MAIN
