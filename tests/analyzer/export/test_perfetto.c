/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a trace for Perfetto is cut off, out of step, or grows with what it repeats. */
#include <string.h>

#include "cpu_sample.h"
#include "export/exporters.h"
#include "export/perfetto_parts.h"
#include "suite.h"

static uint8_t *exported(const struct recording *recording, const struct labels *labels,
			 size_t *length)
{
	struct analysis analysis = { .recording = recording, .labels = labels };
	struct export export = { .analysis = &analysis };
	char *bytes;
	class_table_build(&analysis.classes, recording, NULL);
	export.file = open_memstream(&bytes, length);
	export_perfetto(&export);
	fclose(export.file);
	class_table_free(&analysis.classes);
	return (uint8_t *)bytes;
}

static uint64_t varint(const uint8_t **at)
{
	uint64_t value = 0;
	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = *(*at)++;
		value |= (uint64_t)(byte & 0x7F) << shift;
		if (byte < 0x80)
			return value;
	}
}

/* How many packets there are; each must end where the next one begins. */
static size_t packet_count(const uint8_t *bytes, size_t length)
{
	const uint8_t *at = bytes;
	size_t count = 0;
	for (; at < bytes + length; count++) {
		ck_assert_uint_eq(varint(&at), 1 << 3 | 2);
		uint64_t size = varint(&at);
		at += size;
	}
	ck_assert_ptr_eq(at, bytes + length);
	return count;
}

static size_t times_in(const uint8_t *bytes, size_t length, const char *text)
{
	size_t count = 0, size = strlen(text);
	for (const uint8_t *at = bytes;
	     (at = memmem(at, length - (size_t)(at - bytes), text, size)); at += size)
		count++;
	return count;
}

START_TEST(each_text_is_written_once)
{
	struct sketch sketch;
	size_t length;
	const struct labels labels = { .frames = cpu_names };
	cpu_sketch(&sketch);
	sketch.frames[0].module = NO_INDEX;
	sketch.rec.waits[0].holder = 0;
	uint8_t *bytes = exported(&sketch.rec, &labels, &length);
	ck_assert_uint_gt(packet_count(bytes, length), 30);
	ck_assert_uint_eq(times_in(bytes, length, "mutex n12"), 1);
	ck_assert_uint_eq(times_in(bytes, length, "critical path"), 1);

	ck_assert_uint_eq(times_in(bytes, length, "running threads"), 1);
	free(bytes);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_recording_without_threads_is_a_trace)
{
	struct sketch sketch;
	size_t length;
	sketch_begin(&sketch);
	if (_i)
		sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 10);
	uint8_t *bytes = exported(&sketch.rec, NULL, &length);
	ck_assert_uint_gt(packet_count(bytes, length), 0);
	free(bytes);
	sketch_free(&sketch);
}
END_TEST

/* Parts of time: levels are spread over them to the nanosecond. */
START_TEST(levels_add_up)
{
	struct trace_levels levels;
	uint64_t sum = 0;
	trace_levels_begin(&levels, "level", 1000, 1000 + 123457);
	trace_levels_add(&levels, 1000, 1000 + 123457);
	trace_levels_add(&levels, 1001, 1002);
	trace_levels_add(&levels, 5000, 5000);
	trace_levels_add(&levels, 70000, 70100);
	for (size_t i = 0; i < levels.part_count; i++)
		sum += levels.ns[i];
	ck_assert_uint_eq(sum, 123457 + 1 + 100);
	free(levels.ns);
}
END_TEST

SUITE()
{
	TEST(each_text_is_written_once);
	LOOP(a_recording_without_threads_is_a_trace, 0, 2);
	TEST(levels_add_up);
}
