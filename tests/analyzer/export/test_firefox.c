/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, a profile for Firefox is refused, or shows time or markers that were not there. */
#include <jansson.h>
#include <string.h>
#include <zlib.h>

#include "cpu_sample.h"
#include "export/exporters.h"
#include "suite.h"

enum { PLAIN_BYTES = 1 << 26 };

static json_t *unpacked(const char *packed, size_t length)
{
	char *plain = calloc(PLAIN_BYTES, 1);
	z_stream stream = { .next_in = (unsigned char *)(uintptr_t)packed,
			    .avail_in = (unsigned)length,
			    .next_out = (unsigned char *)plain,
			    .avail_out = PLAIN_BYTES };
	json_error_t error;
	ck_assert_int_eq(inflateInit2(&stream, 15 + 16), Z_OK);
	ck_assert_int_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
	json_t *root = json_loadb(plain, stream.total_out, 0, &error);
	ck_assert_msg(root != NULL, "%s at %d", error.text, error.position);
	inflateEnd(&stream);
	free(plain);
	return root;
}

static json_t *exported(const struct recording *recording, const struct labels *labels, char *note)
{
	struct analysis analysis = { .recording = recording, .labels = labels };
	struct export export = { .analysis = &analysis };
	char *bytes;
	size_t length;
	class_table_build(&analysis.classes, recording, NULL);
	export.file = open_memstream(&bytes, &length);
	export_firefox(&export);
	fclose(export.file);
	if (note)
		strcpy(note, export.note);
	json_t *root = unpacked(bytes, length);
	class_table_free(&analysis.classes);
	free(bytes);
	return root;
}

static json_t *cell(json_t *table, const char *column, size_t row)
{
	json_t *value = json_array_get(json_object_get(table, column), row);
	ck_assert_msg(value != NULL, "%s has no row %zu", column, row);
	return value;
}

static const char *text_of(json_t *root, json_t *number)
{
	json_t *texts = json_object_get(json_object_get(root, "shared"), "stringArray");
	return json_string_value(json_array_get(texts, (size_t)json_integer_value(number)));
}

/* Frames from the innermost outwards. */
static void print_stack(char *to, json_t *root, json_t *stack)
{
	json_t *shared = json_object_get(root, "shared");
	*to = '\0';
	for (; json_is_integer(stack); stack = cell(json_object_get(shared, "stackTable"), "prefix",
						    (size_t)json_integer_value(stack))) {
		size_t frame = (size_t)json_integer_value(
			cell(json_object_get(shared, "stackTable"), "frame",
			     (size_t)json_integer_value(stack)));
		size_t function = (size_t)json_integer_value(
			cell(json_object_get(shared, "frameTable"), "func", frame));
		to += sprintf(to, "%s<",
			      text_of(root, cell(json_object_get(shared, "funcTable"), "name",
						 function)));
	}
}

static void print_samples(char *to, json_t *root, size_t thread)
{
	json_t *samples = json_object_get(json_array_get(json_object_get(root, "threads"), thread),
					  "samples");
	size_t count = (size_t)json_integer_value(json_object_get(samples, "length"));
	char stack[256];
	for (size_t i = 0; i < count; i++) {
		print_stack(stack, root, cell(samples, "stack", i));
		to += sprintf(to, "%g %s %g %d\n", json_number_value(cell(samples, "time", i)),
			      stack, json_number_value(cell(samples, "weight", i)),
			      (int)json_integer_value(cell(samples, "threadCPUDelta", i)));
	}
}

/* Each slice twice: with its length, and before its end. CPU time is since the sample before. */
START_TEST(slices_are_samples)
{
	struct sketch sketch;
	char text[2048];
	const struct labels labels = { .frames = cpu_names };
	cpu_sketch(&sketch);
	sketch.frames[0].module = NO_INDEX;
	json_t *root = exported(&sketch.rec, &labels, NULL);
	print_samples(text, root, 0);
	ck_assert_str_eq(text, "0 n11<n10< 2 0\n1.999 n11<n10< 0 1999000\n"
			       "2 n10< 1 1000\n2.999 n10< 0 999000\n"
			       "3 n11<n11<n10< 1 1000\n3.999 n11<n11<n10< 0 999000\n"
			       "4 [on CPU]< 0.4 1000\n4.399 [on CPU]< 0 399000\n"
			       "4.4 [unexplained]< 0.6 1000\n4.999 [unexplained]< 0 0\n5  0 0\n");
	print_samples(text, root, 1);
	ck_assert_str_eq(text, "0 mutex n12<n10< 2 0\n1.999 mutex n12<n10< 0 0\n"
			       "2 sleep n5< 2 0\n3.999 sleep n5< 0 0\n"
			       "4 [unexplained]< 1 0\n4.999 [unexplained]< 0 0\n5  0 0\n");
	json_decref(root);
	sketch_free(&sketch);
}
END_TEST

static json_t *marker_data(json_t *root, size_t thread, size_t row)
{
	json_t *lane = json_array_get(json_object_get(root, "threads"), thread);
	return cell(json_object_get(lane, "markers"), "data", row);
}

START_TEST(markers_name_the_holder)
{
	struct sketch sketch;
	char stack[64];
	const struct labels labels = { .frames = cpu_names };
	cpu_sketch(&sketch);
	sketch.frames[0].module = NO_INDEX;
	sketch.rec.waits[0].holder = 0;
	sketch.rec.waits[0].address = 0x40;
	sketch.rec.extras[3].address = 0x40;
	json_t *root = exported(&sketch.rec, &labels, NULL);
	json_t *wait = marker_data(root, 1, 0), *hold = marker_data(root, 2, 0);
	ck_assert_str_eq(text_of(root, json_object_get(wait, "label")), "n12 <- n1");
	ck_assert_str_eq(text_of(root, json_object_get(wait, "holder")), "n1");
	print_stack(stack, root, json_object_get(json_object_get(wait, "cause"), "stack"));
	ck_assert_str_eq(stack, "n10<");
	ck_assert_str_eq(text_of(root, json_object_get(hold, "label")), "n1");
	ck_assert_str_eq(json_string_value(json_object_get(
				 json_array_get(json_object_get(root, "threads"), 2), "name")),
			 "lock n12");
	json_decref(root);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_recording_without_threads_is_a_profile)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	if (_i)
		sketch_bare_op(&sketch, NO_INDEX, KIND_CALL, 1, 0, 10);
	json_t *root = exported(&sketch.rec, NULL, NULL);
	ck_assert_uint_eq(json_array_size(json_object_get(root, "threads")), 1);
	json_decref(root);
	sketch_free(&sketch);
}
END_TEST

/* Calls of 1 to 100 us, far more than a front end can draw, and as many as it can of one length. */
START_TEST(the_longest_markers_stay)
{
	enum { CALLS = 101000, LENGTHS = 100, KEPT = 100000 };
	struct sketch sketch;
	char note[EXPORT_NOTE_BYTES];
	sketch_begin(&sketch);
	sketch_thread(&sketch, "main", 0, 1e6);
	struct rec_op *few = sketch.rec.ops;
	struct rec_op_extra *few_extras = sketch.rec.extras;
	sketch.rec.ops = memory_new(CALLS + 2, sizeof(*sketch.rec.ops));
	sketch.rec.extras = memory_new(CALLS + 2, sizeof(*sketch.rec.extras));
	memcpy(sketch.rec.ops, few, 2 * sizeof(*few));
	free(few);
	free(few_extras);
	for (size_t i = 0; i < CALLS; i++) {
		uint64_t start_ns = i * 200000;
		sketch.rec.ops[i + 2] =
			(struct rec_op){ .start_ns = start_ns,
					 .end_ns = start_ns + (i % LENGTHS + 1) * 1000,
					 .kind = KIND_IO,
					 .name = 1,
					 .parent = NO_INDEX };
	}
	sketch.rec.op_count = CALLS + 2;
	json_t *root = exported(&sketch.rec, NULL, note);
	json_t *lane = json_array_get(json_object_get(root, "threads"), 0);
	json_t *markers = json_object_get(lane, "markers");
	ck_assert_uint_eq(json_array_size(json_object_get(markers, "data")), KEPT);
	/* 1010 of each length: only those of 1 us are left out, but for the first ten */
	size_t shortest = 0;
	for (size_t i = 0; i < KEPT; i++)
		shortest += json_number_value(cell(markers, "endTime", i)) -
				    json_number_value(cell(markers, "startTime", i)) <
			    0.0015;
	ck_assert_uint_eq(shortest, 10);
	ck_assert_str_eq(note, "of 101000 markers only the 100000 longest are in it");
	json_decref(root);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(slices_are_samples);
	TEST(markers_name_the_holder);
	LOOP(a_recording_without_threads_is_a_profile, 0, 2);
	TEST(the_longest_markers_stay);
}
