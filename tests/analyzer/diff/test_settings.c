/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, another machine or another library would pass for a change of the program.
 */
#include "diff/settings.h"

#include "compared.h"
#include "suite.h"

static struct compared old_side, new_side;
static struct mapping mapping;
static struct rec_module libraries[2];
static struct settings settings;

static bool says(const char *part)
{
	for (size_t i = 0; i < settings.count; i++)
		if (strstr(settings.lines[i], part))
			return true;
	return false;
}

static void begin(void)
{
	compared_begin(&old_side, "nap", 3, 1);
	compared_begin(&new_side, "nap", 3, 2);
	settings = (struct settings){ 0 };
}

static void compare(void)
{
	settings_compare(&settings, &old_side.analysis, &new_side.analysis, &mapping);
}

static void end(void)
{
	compared_end(&old_side);
	compared_end(&new_side);
}

static uint32_t string_of(struct compared *side, const char *text)
{
	return sketch_string(&side->sketch, text);
}

START_TEST(equal_surroundings_are_not_spoken_of)
{
	begin();
	compare();
	ck_assert_msg(!settings.count, "%s", settings.lines[0]);
	ck_assert_str_eq(settings.refusal, "");
	end();
}
END_TEST

START_TEST(other_programs_are_not_compared_unless_renamed)
{
	char error[OPTIONS_ERROR_BYTES];
	const struct text_list rules = { { "s/server/serverd/" }, 1 };
	begin();
	new_side.sketch.process.exe = string_of(&new_side, "/opt/serverd");
	compare();
	ck_assert_ptr_nonnull(strstr(settings.refusal, "of server, NEW of serverd"));
	settings = (struct settings){ 0 };
	ck_assert_int_eq(mapping_parse(&mapping, &rules, error), 0);
	compare();
	ck_assert_str_eq(settings.refusal, "");
	mapping_free(&mapping);
	end();
}
END_TEST

START_TEST(requests_of_one_side_alone_cannot_be_compared)
{
	begin();
	new_side.analysis.script.requests.judged_class = NO_INDEX;
	compare();
	ck_assert_ptr_nonnull(strstr(settings.refusal, "OLD has requests, NEW has none"));
	end();
}
END_TEST

START_TEST(machines_and_samples_are_held_against_each_other)
{
	struct rec_sample sample = { .stack = 1 };
	begin();
	new_side.sketch.process.cpus = 4;
	new_side.sketch.process.quota_milli_cpus = 500;
	new_side.sketch.rec.samples = &sample;
	new_side.sketch.rec.sample_count = 1;
	compare();
	ck_assert(says("OLD had 2 CPUs, NEW 4"));
	ck_assert(says("NEW 0.50 (0 = none)"));
	ck_assert(says("Only NEW was sampled"));
	end();
}
END_TEST

START_TEST(another_build_of_a_library_is_named)
{
	begin();
	for (size_t i = 0; i < 2; i++) {
		struct compared *side = i ? &new_side : &old_side;
		libraries[i] = (struct rec_module){
			.path = string_of(side, i ? "/lib/libz.so.1" : "/usr/lib/libz.so.1"),
			.build_id = string_of(side, i ? "22" : "11"),
		};
		side->sketch.rec.modules = &libraries[i];
		side->sketch.rec.module_count = 1;
	}
	compare();
	ck_assert(says("Another build of the library libz.so.1"));
	end();
}
END_TEST

START_TEST(other_programs_on_the_cpus_disturb)
{
	begin();
	old_side.analysis.script.others.cpus = 0.05;
	old_side.analysis.script.others.is_known = true;
	new_side.analysis.script.others.cpus = 1.5;
	new_side.analysis.script.others.is_known = true;
	compare();
	ck_assert(says("Other programs used 0.1 CPUs beside OLD and 1.5 beside NEW") ||
		  says("Other programs used 0.0 CPUs beside OLD and 1.5 beside NEW"));
	ck_assert(settings.disturbed[0]);
	end();
}
END_TEST

START_TEST(losses_and_loads_are_told)
{
	double units[] = { 100 }, elapsed_ns[] = { 1e9 }, longer_ns[] = { 2e9 };
	struct costs costs = {
		.unit = UNIT_REQUEST, .stretch_count = 1, .units = units, .elapsed_ns = elapsed_ns
	};
	struct costs slower = costs;
	struct recording recording = { .truncated_files = 1, .dropped_events = 7 };
	slower.elapsed_ns = longer_ns;
	settings = (struct settings){ 0 };
	settings_add_losses(&settings, &recording, "NEW");
	ck_assert(says("A dump of NEW ends in the middle"));
	ck_assert(says("7 events of NEW are lost"));
	settings_add_load(&settings, &costs, &costs);
	ck_assert_uint_eq(settings.count, 2);
	settings_add_load(&settings, &costs, &slower);
	ck_assert(says("100 requests a second in OLD, 50 in NEW"));
}
END_TEST

SUITE()
{
	TEST(equal_surroundings_are_not_spoken_of);
	TEST(other_programs_are_not_compared_unless_renamed);
	TEST(requests_of_one_side_alone_cannot_be_compared);
	TEST(machines_and_samples_are_held_against_each_other);
	TEST(another_build_of_a_library_is_named);
	TEST(other_programs_on_the_cpus_disturb);
	TEST(losses_and_loads_are_told);
}
