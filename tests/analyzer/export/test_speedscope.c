/* SPDX-License-Identifier: Apache-2.0 */
/* If this fails, speedscope refuses the file, or shows time that was not there. */
#include <jansson.h>

#include "cpu_sample.h"
#include "export/exporters.h"
#include "suite.h"

static size_t exported_bytes;
static char exported_note[EXPORT_NOTE_BYTES];

static json_t *exported(const struct recording *recording, const struct labels *labels)
{
	struct analysis analysis = { .recording = recording, .labels = labels };
	struct class_table classes;
	struct export export = { .analysis = &analysis };
	json_error_t error;
	char *text;
	size_t length;
	class_table_build(&classes, recording, NULL);
	analysis.classes = classes;
	export.file = open_memstream(&text, &length);
	export_speedscope(&export);
	fclose(export.file);
	json_t *root = json_loadb(text, length, 0, &error);
	ck_assert_msg(root != NULL, "%s: %s", error.text, text);
	class_table_free(&classes);
	exported_bytes = length;
	memcpy(exported_note, export.note, sizeof(exported_note));
	free(text);
	return root;
}

/* "thread;main;leaf 1000\n" for each sample. */
static void print_profile(char *to, json_t *root, size_t index)
{
	json_t *frames = json_object_get(json_object_get(root, "shared"), "frames");
	json_t *profile = json_array_get(json_object_get(root, "profiles"), index);
	json_t *samples = json_object_get(profile, "samples");
	json_t *weights = json_object_get(profile, "weights"), *sample, *number;
	size_t i, k;
	json_int_t sum = 0;
	ck_assert_uint_eq(json_array_size(samples), json_array_size(weights));
	to += sprintf(to, "%s\n", json_string_value(json_object_get(profile, "name")));
	json_array_foreach(samples, i, sample)
	{
		json_array_foreach(sample, k, number)
		{
			json_t *frame = json_array_get(frames, (size_t)json_integer_value(number));
			to += sprintf(to, "%s%s", k ? ";" : "",
				      json_string_value(json_object_get(frame, "name")));
		}
		json_int_t ns = json_integer_value(json_array_get(weights, i));
		to += sprintf(to, " %d\n", (int)ns / 1000);
		sum += ns;
	}
	ck_assert_int_eq(sum, json_integer_value(json_object_get(profile, "endValue")));
}

START_TEST(all_threads_come_first_then_each_in_order_of_time)
{
	struct sketch sketch;
	char text[2048];
	const struct labels labels = { .frames = cpu_names };
	cpu_sketch(&sketch);
	json_t *root = exported(&sketch.rec, &labels);
	ck_assert_str_eq(json_string_value(json_object_get(root, "$schema")),
			 "https://www.speedscope.app/file-format-schema.json");
	ck_assert_uint_eq(json_array_size(json_object_get(root, "profiles")), 3);
	print_profile(text, root, 0);
	ck_assert_str_eq(text, "all threads\nn1;n10;n11 2000\nn1;n10 1000\nn1;n10;n11;n11 1000\n"
			       "n1;[on CPU] 400\nn1;[unexplained] 600\nn2;n10;mutex n12 2000\n"
			       "n2;sleep n5 2000\nn2;[unexplained] 1000\n");
	print_profile(text, root, 1);
	ck_assert_str_eq(text, "n1 (0)\nn10;n11 2000\nn10 1000\nn10;n11;n11 1000\n"
			       "[on CPU] 400\n[unexplained] 600\n");
	print_profile(text, root, 2);
	ck_assert_str_eq(text, "n2 (0)\nn10;mutex n12 2000\nsleep n5 2000\n[unexplained] 1000\n");
	json_decref(root);
	sketch_free(&sketch);
}
END_TEST

START_TEST(names_are_escaped)
{
	struct sketch sketch;
	const struct labels labels = { .frames = cpu_names };
	cpu_sketch(&sketch);
	sketch.strings[1] = "a\"b\\c\n\x01;\xff</script>";
	json_t *root = exported(&sketch.rec, &labels);
	json_t *profile = json_array_get(json_object_get(root, "profiles"), 1);
	ck_assert_str_eq(json_string_value(json_object_get(profile, "name")),
			 "a\"b\\c\n\x01;\xef\xbf\xbd</script> (0)");
	json_decref(root);
	sketch_free(&sketch);
}
END_TEST

enum { DEEP = 1000, CALLS = 4000, SHORT_NS = 100, LONG_NS = 10000, BYTES_MOST = 20000000 };

/* One thread that is in one call or another all the time, far down, each second one short. */
static void deep_sketch(struct sketch *sketch, struct rec_stack *stacks)
{
	uint64_t at_ns = 0;
	sketch_begin(sketch);
	sketch->rec.stacks = stacks;
	sketch->rec.stack_count = 2;
	sketch->rec.frame_count = DEEP;
	for (uint32_t i = 0; i < CALLS; i++) {
		uint64_t ns = i % 2 ? SHORT_NS : LONG_NS;
		uint32_t op =
			sketch_bare_op(sketch, NO_INDEX, KIND_IO, 1 + i % 4, at_ns, at_ns + ns);
		sketch->rec.ops[op].thread = 0;
		sketch->rec.extras[op].stack = 1;
		at_ns += ns;
	}
	sketch->threads[0] = (struct rec_thread){ .op = NO_INDEX };
	sketch->rec.thread_count = sketch->rec.process_count = 1;
}

/* The viewer cannot take more; the sums stay. */
START_TEST(short_slices_are_put_together_in_a_large_file)
{
	static uint32_t first[DEEP + 1], functions[DEEP];
	struct rec_stack stacks[] = { { 0, 0 }, { 0, DEEP } };
	const struct labels labels = { .frames = { .first = first, .names = functions } };
	struct sketch sketch;
	for (uint32_t i = 0; i < DEEP; i++) {
		first[i + 1] = i + 1;
		functions[i] = 10 + i % 50;
	}
	deep_sketch(&sketch, stacks);
	json_t *root = exported(&sketch.rec, &labels);
	ck_assert_uint_lt(exported_bytes, BYTES_MOST);
	json_t *profile = json_array_get(json_object_get(root, "profiles"), 1);
	json_t *samples = json_object_get(profile, "samples"), *number;
	json_int_t sum = 0;
	size_t i;
	ck_assert_uint_eq(json_array_size(samples), CALLS);
	ck_assert_uint_eq(json_array_size(json_array_get(samples, 0)), DEEP + 1);
	ck_assert_uint_eq(json_array_size(json_array_get(samples, 1)), 1);
	json_array_foreach(json_object_get(profile, "weights"), i, number) sum +=
		json_integer_value(number);
	ck_assert_int_eq(sum, CALLS / 2 * (SHORT_NS + LONG_NS));
	ck_assert_str_eq(exported_note, "2000 slices of less than 1 us are put together in the "
					"threads' profiles");
	json_t *merged = json_array_get(json_object_get(root, "profiles"), 0);
	ck_assert_uint_eq(json_array_size(json_object_get(merged, "samples")), 4);
	json_decref(root);
	sketch_free(&sketch);
}
END_TEST

START_TEST(a_recording_without_threads_has_an_empty_profile)
{
	struct sketch sketch;
	sketch_begin(&sketch);
	json_t *root = exported(&sketch.rec, NULL);
	ck_assert_uint_eq(json_array_size(json_object_get(root, "profiles")), 1);
	json_decref(root);
	sketch_free(&sketch);
}
END_TEST

SUITE()
{
	TEST(all_threads_come_first_then_each_in_order_of_time);
	TEST(names_are_escaped);
	TEST(short_slices_are_put_together_in_a_large_file);
	TEST(a_recording_without_threads_has_an_empty_profile);
}
