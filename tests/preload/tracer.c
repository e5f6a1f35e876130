/* SPDX-License-Identifier: Apache-2.0 */
/* A tracer's library that publishes OpenTelemetry's record for threads, for test_publishers.c. */
#include <stdint.h>
#include <string.h>

struct published {
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t valid;
	uint8_t flags;
	uint16_t attribute_bytes;
} __attribute__((packed));

void tracer_publish(const uint8_t *trace_id, const uint8_t *span_id);

static __thread char in_the_way[TRACER_BYTES_BEFORE];
__thread struct published *otel_thread_ctx_v1;

void tracer_publish(const uint8_t *trace_id, const uint8_t *span_id)
{
	static __thread struct published record;

	in_the_way[0]++;
	otel_thread_ctx_v1 = NULL;
	if (!trace_id)
		return;
	record.valid = 0;
	memcpy(record.trace_id, trace_id, sizeof(record.trace_id));
	memcpy(record.span_id, span_id, sizeof(record.span_id));
	record.valid = 1;
	otel_thread_ctx_v1 = &record;
}
