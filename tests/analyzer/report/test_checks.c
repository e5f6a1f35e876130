/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a replay that is not the recorded run would be ranked by, or a good one be
 * withheld.
 */
#include "report/checks.h"

#include "report/analysis.h"
#include "report/verdict.h"

#include "rebuilt.h"
#include "suite.h"

enum { KINDS = 64, REQUESTS = 3 };

static const char *kind_words[KINDS];

/* The unchanged run takes 202 ms; slower, what `grows_ms` says. */
static double grows_ms, doubled_grows_ms;

static void *no_scratch(const struct replayer *replayer)
{
	(void)replayer;
	return calloc(1, 1);
}

static void run(const struct replayer *replayer, const struct trial *trial, size_t count,
		void *scratch, struct replay_answer *answer)
{
	(void)replayer;
	ck_assert_ptr_nonnull(scratch);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(trial->count, 1);
	bool is_second = trial->scalings[0].factor > 1.5;
	ck_assert_double_eq_tol(trial->scalings[0].factor, is_second ? 2 : 1.1, 1e-9);
	*answer = (struct replay_answer){
		.makespan_ns = (202 + (is_second ? doubled_grows_ms : grows_ms)) * 1e6
	};
}

static const struct replayer replayer = { .scratch_new = no_scratch,
					  .scratch_free = free,
					  .run = run };

/* One row's change to an analysis that passes. */
struct trouble {
	uint64_t dropped;
	uint64_t forced;
	double late_ms;       /* of the whole and both threads */
	double first_late_ms; /* of one thread */
	double cpu_ms;        /* of each thread */
	double run_ms;        /* of one thread in the replay */
	double blocked_ms;    /* of each thread, in calls */
	double queued_ms;     /* of each thread, for a CPU */
	double slow_ms;       /* requests, which took 10 */
	bool was_crowded;
	bool is_idle;         /* the second thread uses no CPU time */
	bool ticks;           /* the second thread is left out of the makespan */
	double unresolved_ms; /* in waits of the class "out" */
	double grows_ms;      /* with the best class a tenth slower, of 10 ms expected */
	double doubled_ms;    /* with twice the time, of 100 ms expected */
	double spun_ms;       /* on CPUs, by looking */
	double most_spun_ms;  /* of that: by one thread */
	bool has_no_samples;
	bool has_two_cpus;
	bool has_other_cpus;
	bool is_forced;
	bool has_no_script;
};

static const struct {
	struct trouble trouble;
	enum check_id id;
	enum check_state state;
	bool is_withheld;
	const char *line;
} rows[] = {
	/* 0 */ { { .grows_ms = 10 }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 1 */
	{ { .grows_ms = 10, .dropped = 1 },
	  CHECK_DROPS,
	  CHECK_FAILED,
	  false,
	  "1 events were dropped while recording: all figures are too low by an unknown "
	  "amount; record less, or with a larger WCPROF_MAX_EVENTS" },
	/* 2 */ { { .grows_ms = 10, .dropped = 2 }, CHECK_DROPS, CHECK_WITHHOLDS, true, NULL },
	/* 3 */
	{ { .grows_ms = 10, .late_ms = 10.1 },
	  CHECK_DRIFT,
	  CHECK_FAILED,
	  false,
	  "the replay of the unchanged run is off by +5.0% (thread `main` 1 by +5.0%): do "
	  "not trust smaller savings" },
	/* 4 */ { { .grows_ms = 10, .late_ms = 30 }, CHECK_DRIFT, CHECK_WITHHOLDS, true, NULL },
	/* 5 */ { { .grows_ms = 10, .late_ms = -30 }, CHECK_DRIFT, CHECK_WITHHOLDS, true, NULL },
	/* 6 */
	{ { .grows_ms = 10, .late_ms = 30, .is_forced = true },
	  CHECK_DRIFT,
	  CHECK_WITHHOLDS,
	  false,
	  NULL },
	/* 7 */
	{ { .grows_ms = 10, .late_ms = 30, .has_other_cpus = true },
	  CHECK_DRIFT,
	  CHECK_UNKNOWN,
	  false,
	  "" },
	/* 8 */
	{ { .grows_ms = 10, .late_ms = 30, .has_no_script = true },
	  CHECK_DRIFT,
	  CHECK_FAILED,
	  false,
	  "the replay of the unchanged run is off by +14.9%: do not trust smaller "
	  "savings" },
	/* 9 */
	{ { .grows_ms = 10, .first_late_ms = -40.4 },
	  CHECK_THREADS,
	  CHECK_FAILED,
	  false,
	  "one thread in 20 ends too early or too late in the replay, by 20.0% of the "
	  "makespan or more; the worst is `worker` (2) with -20.0%" },
	/* 10 */
	{ { .grows_ms = 10, .first_late_ms = -150 }, CHECK_THREADS, CHECK_WITHHOLDS, true, NULL },
	/* 11 */
	{ { .grows_ms = 10, .cpu_ms = 20 },
	  CHECK_CPU,
	  CHECK_FAILED,
	  false,
	  "the replay uses 0.0 ms of CPU time, the recorded threads used 60.0 ms: "
	  "`main` (1) used a CPU in calls that the replay takes for waiting" },
	/* 12 */
	{ { .grows_ms = 10, .run_ms = 50 },
	  CHECK_CPU,
	  CHECK_FAILED,
	  false,
	  "the replay uses 50.0 ms of CPU time, the recorded threads used 0.0 ms: `worker` (2) was "
	  "off the CPU for an unknown reason" },
	/* 13 */ { { .grows_ms = 10, .cpu_ms = 90 }, CHECK_CPU, CHECK_WITHHOLDS, true, NULL },
	/* 14 */
	{ { .grows_ms = 10, .unresolved_ms = 50 },
	  CHECK_FALLBACK,
	  CHECK_FAILED,
	  false,
	  "33% of the waiting time has no known cause, most of it in `out` (sleep): the "
	  "replay keeps its length" },
	/* 15 */
	{ { .grows_ms = 10, .unresolved_ms = 149 }, CHECK_FALLBACK, CHECK_WITHHOLDS, true, NULL },
	/* 16 */
	{ { .grows_ms = 10, .forced = 1 },
	  CHECK_FORCED,
	  CHECK_WITHHOLDS,
	  true,
	  "1 waits had to be ended by force: their wakeup never comes in the replay" },
	/* 17 */
	{ { .grows_ms = 0.05 },
	  CHECK_MUTATION,
	  CHECK_FAILED,
	  false,
	  "with `out` (sleep) 10% slower the replay grows by +0.0%, where its saving "
	  "implies about +5.0%: that saving may not be real" },
	/* 18 */
	{ { .grows_ms = -5, .doubled_ms = -50 }, CHECK_MUTATION, CHECK_FAILED, false, NULL },
	/* 19 */
	{ { .grows_ms = -11, .doubled_ms = -110 }, CHECK_MUTATION, CHECK_WITHHOLDS, true, NULL },
	/* 20: a small change may help by chance, a large one does not */
	{ { .grows_ms = -11, .doubled_ms = 60 }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 21 */ { { .grows_ms = 4 }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 22: they were on CPUs in calls, and nobody else wanted those */
	{ { .grows_ms = 10, .cpu_ms = 20, .blocked_ms = 30 },
	  CHECK_COUNT,
	  CHECK_PASSED,
	  false,
	  "" },
	/* 23 */
	{ { .grows_ms = 10, .cpu_ms = 20, .blocked_ms = 30, .was_crowded = true },
	  CHECK_CPU,
	  CHECK_FAILED,
	  false,
	  NULL },
	/* 24 */
	{ { .grows_ms = 10, .cpu_ms = 50, .blocked_ms = 20 },
	  CHECK_CPU,
	  CHECK_FAILED,
	  false,
	  NULL },
	/* 25: whose end is no matter */
	{ { .grows_ms = 10, .first_late_ms = -150, .cpu_ms = 2, .is_idle = true },
	  CHECK_COUNT,
	  CHECK_PASSED,
	  false,
	  "" },
	/* 26 */ { { .grows_ms = 10, .slow_ms = 3 }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 27 */
	{ { .grows_ms = 10, .slow_ms = 90 },
	  CHECK_LATENCY,
	  CHECK_FAILED,
	  false,
	  "requests took 10.0 ms (median; p99 10.0 ms), in the replay they take 10.0 ms (p99 "
	  "100 ms): do not trust what is predicted for requests" },
	/* 28: whose end is no matter, either */
	{ { .grows_ms = 10, .first_late_ms = -150, .ticks = true },
	  CHECK_COUNT,
	  CHECK_PASSED,
	  false,
	  "" },
	/* 29 */
	{ { .grows_ms = 10, .spun_ms = 2, .most_spun_ms = 2 },
	  CHECK_COUNT,
	  CHECK_PASSED,
	  false,
	  "" },
	/* 30 */
	{ { .grows_ms = 10, .spun_ms = 12, .most_spun_ms = 10 },
	  CHECK_SPINNING,
	  CHECK_FAILED,
	  false,
	  "`spin` (thread `worker`) spins for about 10 ms (as do others), polling memory until "
	  "another thread writes: the replay takes that for work" },
	/* 31: by one thread */
	{ { .grows_ms = 10, .spun_ms = 30, .most_spun_ms = 30, .has_two_cpus = true },
	  CHECK_SPINNING,
	  CHECK_WITHHOLDS,
	  true,
	  NULL },
	/* 32: by two, in turns */
	{ { .grows_ms = 10, .spun_ms = 30, .most_spun_ms = 15 },
	  CHECK_SPINNING,
	  CHECK_WITHHOLDS,
	  true,
	  NULL },
	/* 33: by two, at the same time as it may be */
	{ { .grows_ms = 10, .spun_ms = 30, .most_spun_ms = 15, .has_two_cpus = true },
	  CHECK_SPINNING,
	  CHECK_FAILED,
	  false,
	  NULL },
	/* 34 */
	{ { .grows_ms = 10, .spun_ms = 30, .most_spun_ms = 30, .is_forced = true },
	  CHECK_SPINNING,
	  CHECK_WITHHOLDS,
	  false,
	  NULL },
	/* 35 */
	{ { .grows_ms = 10, .spun_ms = 30, .most_spun_ms = 30, .has_no_samples = true },
	  CHECK_SPINNING,
	  CHECK_UNKNOWN,
	  false,
	  "" },
	/* 36 */
	{ { .grows_ms = 10, .run_ms = 50, .queued_ms = 10 },
	  CHECK_CPU,
	  CHECK_FAILED,
	  false,
	  "the replay uses 50.0 ms of CPU time, the recorded threads used 0.0 ms: `worker` (2) "
	  "waited in the run queue" },
};

/* A wait of 10 ms, and 140 more: 150 ms waited for in all. */
static void sketch_fill(struct sketch *sketch)
{
	sketch_begin(sketch);
	sketch_thread(sketch, "main", 0, 202);
	sketch_thread(sketch, "worker", 0, 192);
	sketch_thread(sketch, "worker", 0, 202);
	sketch_sleep(sketch, 1, "out", 0, 10);
	for (int i = 0; i < 60; i++)
		sketch_sleep(sketch, 0, "idle", i, i + 1);
	sketch_wait(sketch, 1, REASON_MUTEX, "M", 10, 20, NO_INDEX);
	sketch_wait(sketch, 2, REASON_MUTEX, "M", 20, 160, NO_INDEX);
	sketch_end(sketch);
	for (size_t i = 0; i < KINDS; i++)
		kind_words[i] = i == KIND_SLEEP ? "sleep" : "other";
	sketch->rec.kinds.words = kind_words;
	sketch->rec.dropped_events = 0;
}

/* All that checks look at, as if it had been found out. */
struct found {
	struct request requests[REQUESTS];
	struct sketch sketch;
	struct options options;
	struct labels labels;
	struct analysis analysis;
	struct whatif_row row;
	struct estimate estimates[2];
	uint64_t finish_ns[3];
	struct actor actors[3];
	uint64_t unresolved_ns[8];
	struct thread_time times[3];
	struct step steps[2];
};

static void found_fill(struct found *found, const struct trouble *trouble)
{
	struct analysis *analysis = &found->analysis;
	memset(found, 0, sizeof(*found));
	sketch_fill(&found->sketch);
	found->sketch.rec.dropped_events = trouble->dropped;
	found->options = (struct options){ .factors = { { 0, 0.5 }, 2 },
					   .cpus = trouble->has_other_cpus ? 4 : 0,
					   .force = trouble->is_forced };
	found->sketch.rec.sample_count = trouble->has_no_samples ? 0 : 1;
	found->labels.spins = (struct spins){ .total_ns = (uint64_t)(trouble->spun_ms * 1e6),
					      .thread_ns = (uint64_t)(trouble->most_spun_ms * 1e6),
					      .most_ns = (uint64_t)(trouble->most_spun_ms * 1e6),
					      .function = sketch_string(&found->sketch, "spin"),
					      .thread = 1 };
	*analysis = (struct analysis){ .recording = &found->sketch.rec,
				       .options = &found->options,
				       .labels = &found->labels,
				       .classes = found->sketch.classes,
				       .has_script = !trouble->has_no_script,
				       .actual_makespan_ns = 202 * SKETCH_MS };
	uint32_t out = sketch_class(&found->sketch, "out");
	const double ends_ms[] = { 202, 192, 202 };
	for (uint32_t t = 0; t < 3; t++) {
		double late_ms = trouble->late_ms + (t == 1 ? trouble->first_late_ms : 0);
		double cpu_ms = trouble->is_idle && t == 1 ? 0 : trouble->cpu_ms;
		found->actors[t].finish_ns = (uint64_t)(ends_ms[t] * 1e6);
		found->finish_ns[t] = (uint64_t)((ends_ms[t] + late_ms) * 1e6);
		found->times[t] =
			(struct thread_time){ .thread = t,
					      .has_cpu = true,
					      .unexplained_ns = t == 1,
					      .blocked_ns = (uint64_t)(trouble->blocked_ms * 1e6),
					      .queued_ns = (uint64_t)(trouble->queued_ms * 1e6),
					      .cpu_ns = (uint64_t)(cpu_ms * 1e6) };
	}
	found->actors[1].ticks = trouble->ticks;
	found->actors[1].first_step = 0;
	found->actors[0].first_step = found->actors[2].first_step = 1;
	found->steps[0] =
		(struct step){ .ns = (uint64_t)(trouble->run_ms * 1e6), .type = STEP_RUN };
	found->steps[1].type = STEP_END;
	found->unresolved_ns[out] = (uint64_t)(trouble->unresolved_ms * 1e6);
	analysis->script = (struct script){ .actors = found->actors,
					    .actor_count = 3,
					    .recorded_cpus = trouble->has_two_cpus ? 2 : 1,
					    .was_crowded = trouble->was_crowded,
					    .steps = found->steps,
					    .unresolved_ns = found->unresolved_ns[out],
					    .unresolved_of_class_ns = found->unresolved_ns };
	analysis->threads = (struct thread_table){ .rows = found->times, .count = 3 };
	found->estimates[1].saved_ns = 50e6; /* of 202 at half: a tenth slower is 10 more */
	for (size_t i = 0; i < REQUESTS; i++)
		found->requests[i] =
			(struct request){ out, REQUEST_ASKED, (uint64_t)(10 * SKETCH_MS) };
	analysis->script.requests = (struct requests){ .requests = found->requests,
						       .count = REQUESTS,
						       .judged_class = out,
						       .judged_source = REQUEST_ASKED,
						       .judged_count = REQUESTS };
	found->row = (struct whatif_row){ .class = out, .estimates = found->estimates };
	analysis->whatif = (struct whatif){ .rows = &found->row,
					    .row_count = 1,
					    .baseline_finish_ns = found->finish_ns,
					    .finish_count = trouble->has_no_script ? 0 : 3 };
	analysis->whatif.baseline.makespan_ns = (202 + trouble->late_ms) * 1e6;
	analysis->whatif.baseline.forced_steps = trouble->forced;
	analysis->whatif.baseline.p50_ns = 10e6;
	analysis->whatif.baseline.p99_ns = (10 + trouble->slow_ms) * 1e6;
	grows_ms = trouble->grows_ms + trouble->late_ms;
	doubled_grows_ms = trouble->doubled_ms + trouble->late_ms;
}

static void check(struct checks *checks, const struct analysis *analysis)
{
	checks_build(checks, analysis, &replayer);
	verdict_reach(checks, analysis->has_script, analysis->options->force);
}

START_TEST(what_is_wrong_fails_and_is_said)
{
	struct found found;
	struct checks checks;
	found_fill(&found, &rows[_i].trouble);
	check(&checks, &found.analysis);
	for (enum check_id id = 0; id < CHECK_COUNT; id++) {
		if (id == rows[_i].id) {
			ck_assert_int_eq(checks.rows[id].state, rows[_i].state);
			if (rows[_i].line)
				ck_assert_str_eq(checks.rows[id].line, rows[_i].line);
		} else if (rows[_i].id == CHECK_COUNT) {
			bool never_ran = id == CHECK_CPU && rows[_i].trouble.cpu_ms == 0;

			ck_assert_msg(checks.rows[id].state ==
					      (never_ran ? CHECK_UNKNOWN : rows[_i].state),
				      "%s: %s", verdict_check_name(id), checks.rows[id].line);
		}
	}
	ck_assert_int_eq(checks.is_withheld, rows[_i].is_withheld);
	ck_assert_int_eq(checks.gravest != CHECK_COUNT, rows[_i].state == CHECK_WITHHOLDS);
	sketch_free(&found.sketch);
}
END_TEST

/* Which of two workers ends first is chance. */
START_TEST(threads_of_one_class_stand_for_each_other)
{
	struct found found;
	struct checks checks;
	found_fill(&found, &rows[0].trouble);
	found.finish_ns[1] = 202 * SKETCH_MS;
	found.finish_ns[2] = 192 * SKETCH_MS;
	check(&checks, &found.analysis);
	ck_assert_double_eq(checks.rows[CHECK_THREADS].value, 0);
	sketch_free(&found.sketch);
}
END_TEST

/* Nothing to say is not the same as nothing wrong. */
START_TEST(what_is_not_recorded_is_unknown)
{
	struct found found;
	struct checks checks;
	found_fill(&found, &rows[0].trouble);
	found.times[0].has_cpu = false;
	found.estimates[1].saved_ns = 0;
	check(&checks, &found.analysis);
	ck_assert_int_eq(checks.rows[CHECK_CPU].state, CHECK_UNKNOWN);
	ck_assert_int_eq(checks.rows[CHECK_MUTATION].state, CHECK_UNKNOWN);
	sketch_free(&found.sketch);
}
END_TEST

/* A program that does nothing is not withheld for what its start took. */
START_TEST(next_to_no_cpu_time_is_no_measure)
{
	static const struct {
		double cpu_ms;
		enum check_state state;
	} cases[] = { { 0.3, CHECK_UNKNOWN }, { 0.4, CHECK_PASSED } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct trouble trouble = { .grows_ms = 10, .cpu_ms = cases[i].cpu_ms };
		struct found found;
		struct checks checks;
		found_fill(&found, &trouble);
		check(&checks, &found.analysis);
		ck_assert_int_eq(checks.rows[CHECK_CPU].state, cases[i].state);
		sketch_free(&found.sketch);
	}
}
END_TEST

SUITE()
{
	EACH(what_is_wrong_fails_and_is_said, rows);
	TEST(threads_of_one_class_stand_for_each_other);
	TEST(what_is_not_recorded_is_unknown);
	TEST(next_to_no_cpu_time_is_no_measure);
}
