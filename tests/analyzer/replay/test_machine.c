/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong if a replay had CPUs that the run had not, or not those that were asked for. */
#include "replay/machine.h"

#include "sketch.h"
#include "suite.h"

#include <math.h>

static const struct script_options as_recorded = { 0 };

START_TEST(cpus_are_as_recorded_unless_asked)
{
	static struct rec_sample sample = { .at_ns = 0, .cpu_ns = 500, .thread = 0 };
	static const struct {
		int row;
		bool has_samples;
		double asked, cpus;
	} rows[] = {
		{ 1, true, 0, 2 },         { 2, true, 4, 4 }, { 3, true, INFINITY, INFINITY },
		{ 4, false, 0, INFINITY }, /* nobody knows what ran */
		{ 5, false, 1, 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sketch sketch;
		struct script script;
		struct machine machine;

		sketch_begin(&sketch);
		sketch_thread(&sketch, "main", 0, 10);
		sketch.rec.processes[0].cpus = 2;
		sketch.rec.processes[0].tick_ns = rows[i].has_samples ? 10000000 : 0;
		sketch.rec.samples = &sample;
		sketch.rec.sample_count = rows[i].has_samples;
		sketch_end(&sketch);
		script_build(&script, &sketch.rec, &sketch.classes, &as_recorded);
		machine_begin(&machine, &script, rows[i].asked);
		ck_assert_msg(machine.cpus == rows[i].cpus && machine.recorded_cpus == 2 &&
				      machine.has_others == !(rows[i].asked > 0) &&
				      machine.tick_ns == (rows[i].has_samples ? 10000000 : 4000000),
			      "row %d: %f", rows[i].row, machine.cpus);
		script_free(&script);
		sketch_free(&sketch);
	}
}
END_TEST

/* Recorded on one CPU and asked about two; asked about one, or recorded on two, nothing changes. */
START_TEST(wake_ups_cross_where_there_was_one_cpu)
{
	static const struct {
		int row;
		double recorded, asked;
		bool crosses;
	} rows[] = {
		{ 1, 1, 2, true }, { 2, 1, 1, false }, { 3, 1, 0, false }, { 4, 2, 4, false }
	};
	const struct recording recording = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct script script = { .recording = &recording,
					       .recorded_cpus = rows[i].recorded };
		struct machine machine, other;

		machine_begin(&machine, &script, rows[i].asked);
		ck_assert_msg(machine.crosses == rows[i].crosses, "row %d", rows[i].row);
		if (!(rows[i].asked > 0))
			continue;
		machine_begin(&machine, &script, 0);
		other = machine_with_cpus(&machine, &script, rows[i].asked);
		ck_assert_msg(other.crosses == rows[i].crosses && !machine.crosses, "row %d",
			      rows[i].row);
		/* the first question is not forgotten */
		ck_assert(machine_with_cpus(&other, &script, 1).crosses == rows[i].crosses);
	}
}
END_TEST

/* A number that is asked for is that of each kernel, and one that has too few is enough. */
START_TEST(each_kernel_has_cpus_of_its_own)
{
	double kernel_cpus[] = { 4, 1 };
	struct actor actors[] = { { .kernel = 0 }, { .kernel = 1 }, { .kernel = 1 } };
	const struct recording recording = { .sample_count = 1 };
	const struct script script = { .recording = &recording,
				       .kernel_cpus = kernel_cpus,
				       .kernel_count = 2,
				       .recorded_cpus = 5,
				       .actors = actors,
				       .actor_count = 3 };
	struct machine machine, other;

	machine_begin(&machine, &script, 0);
	ck_assert_double_eq(machine_cpus_of(&machine, &script, 0), 4);
	ck_assert_double_eq(machine_cpus_of(&machine, &script, 1), 1);
	ck_assert_double_eq(machine_spare_cpus(&machine, &script, false), -1);
	ck_assert(machine_is_crowded(&machine, &script));
	other = machine_with_cpus(&machine, &script, 2);
	ck_assert_double_eq(other.cpus, 4);
	ck_assert_double_eq(machine_cpus_of(&other, &script, 1), 2);
	ck_assert(other.has_fewer && !other.has_more && !machine_is_crowded(&other, &script));
}
END_TEST

START_TEST(what_crossing_costs_is_in_no_recording)
{
	static const struct {
		int row;
		double recorded, asked;
		enum crossing crossing;
		struct crossing_cost cost;
	} rows[] = {
		{ 1, 1, 2, CROSSING_USUAL, { 25000, UINT64_MAX, 0, 5000, false, false } },
		{ 2, 1, 2, CROSSING_FREE, { 0, UINT64_MAX, 0, 0, false, false } },
		{ 3, 1, 2, CROSSING_DEAR, { 60000, UINT64_MAX, 25000, 0, true, false } },
		{ 4, 2, 4, CROSSING_USUAL, { 0, UINT64_MAX, 0, 0, false, false } },
		{ 5, 2, 4, CROSSING_DEAR, { 60000, UINT64_MAX, 25000, 0, true, false } },
		/* its cost is gone, or was never paid */
		{ 6, 2, 1, CROSSING_FREE, { 0, 0, -25000, 0, true, false } },
		{ 7, 2, 1, CROSSING_DEAR, { 0, UINT64_MAX, 0, 0, false, false } },
		/* a recorded run may have been pulled as well */
		{ 8, 2, 0, CROSSING_PULLED, { 0, UINT64_MAX, 0, 0, false, true } },
		{ 9, 2, 2, CROSSING_DEAR, { 0, UINT64_MAX, 0, 0, false, false } },
	};
	const struct recording recording = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct script script = { .recording = &recording,
					       .recorded_cpus = rows[i].recorded };
		const struct crossing_cost *is = &rows[i].cost;
		struct machine machine;

		machine_begin(&machine, &script, rows[i].asked);
		struct crossing_cost cost = machine_crossing(&machine, rows[i].crossing);
		ck_assert_msg(cost.least_ns == is->least_ns && cost.most_ns == is->most_ns &&
				      cost.run_ns == is->run_ns &&
				      cost.signal_run_ns == is->signal_run_ns &&
				      cost.is_of_all == is->is_of_all && cost.pulls == is->pulls,
			      "row %d", rows[i].row);
	}
}
END_TEST

START_TEST(who_is_crowded_waits)
{
	static const struct {
		int row;
		size_t actors;
		uint32_t strangers;
		bool has_others;
		bool is_crowded;
	} rows[] = {
		{ 1, 2, 0, true, false },
		{ 2, 3, 0, true, true },
		{ 3, 2, 1, true, true },
		{ 4, 2, 1, false, false }, /* another machine */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct machine two = { .tick_ns = 4000000,
					     .cpus = 2,
					     .has_others = rows[i].has_others };
		struct others_there there = { .stranger_count = rows[i].strangers };
		const struct script script = { .actor_count = rows[i].actors,
					       .others = { .there = &there, .kernel_count = 1 } };

		ck_assert_msg(machine_is_crowded(&two, &script) == rows[i].is_crowded, "row %d",
			      rows[i].row);
	}
}
END_TEST

SUITE()
{
	TEST(cpus_are_as_recorded_unless_asked);
	TEST(wake_ups_cross_where_there_was_one_cpu);
	TEST(each_kernel_has_cpus_of_its_own);
	TEST(what_crossing_costs_is_in_no_recording);
	TEST(who_is_crowded_waits);
}
