/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If this failed, a replay that is not the recorded run would be ranked by, or a good one be
 * withheld.
 */
#include "report/checks.h"

#include "report/analysis.h"
#include "report/verdict.h"

#include "looking.h"
#include "rebuilt.h"
#include "suite.h"

enum { KINDS = 64, REQUESTS = 3 };

static const char *kind_words[KINDS];

/* No check of these rows replays anything. */
static const struct replayer replayer = { 0 };

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
	bool are_busy;
	bool is_idle;         /* the second thread uses no CPU time */
	bool ticks;           /* the second thread is left out of the makespan */
	double unresolved_ms; /* in waits of the class "out" */
	double others_cpus;   /* that other programs used */
	double stopped_ms;    /* by a quota of CPU time */
	double own_ms;        /* of the recorder's */
	double used_ms;       /* CPU time of the process */
	bool asks_of_cpus;    /* of another number of them */
	double crossing_ms;   /* that an answer about CPUs may be off by */
	bool are_locks;       /* no requests, but holds of a lock */
	double spun_ms;       /* on CPUs, by looking */
	double most_spun_ms;  /* of that: by one thread */
	bool has_no_samples;
	bool is_endless;     /* the unchanged run */
	size_t endless_rows; /* beside the one that ends */
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
	/* 0 */ { { 0 }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 1 */
	{ { .dropped = 1 },
	  CHECK_DROPS,
	  CHECK_FAILED,
	  false,
	  "1 events were dropped while recording: all figures are too low by an unknown "
	  "amount; record less, or with a larger WCPROF_MAX_EVENTS" },
	/* 2 */ { { .dropped = 2 }, CHECK_DROPS, CHECK_WITHHOLDS, true, NULL },
	/* 3 */
	{ { .late_ms = 10.1 },
	  CHECK_DRIFT,
	  CHECK_FAILED,
	  false,
	  "the replay of the unchanged run is off by +5.0% (thread `main` 1 by +5.0%): do "
	  "not trust smaller savings" },
	/* 4 */ { { .late_ms = 30 }, CHECK_DRIFT, CHECK_WITHHOLDS, true, NULL },
	/* 5 */ { { .late_ms = -30 }, CHECK_DRIFT, CHECK_WITHHOLDS, true, NULL },
	/* 6 */
	{ { .late_ms = 30, .is_forced = true }, CHECK_DRIFT, CHECK_WITHHOLDS, false, NULL },
	/* 7 */
	{ { .late_ms = 30, .has_other_cpus = true }, CHECK_DRIFT, CHECK_UNKNOWN, false, "" },
	/* 8 */
	{ { .late_ms = 30, .has_no_script = true },
	  CHECK_DRIFT,
	  CHECK_FAILED,
	  false,
	  "the replay of the unchanged run is off by +14.9%: do not trust smaller "
	  "savings" },
	/* 9 */
	{ { .first_late_ms = -40.4 },
	  CHECK_THREADS,
	  CHECK_FAILED,
	  false,
	  "one thread in 20 ends too early or too late in the replay, by 20.0% of the "
	  "makespan or more; the worst is `worker` (2) with -20.0%" },
	/* 10 */
	{ { .first_late_ms = -150 }, CHECK_THREADS, CHECK_WITHHOLDS, true, NULL },
	/* 11 */
	{ { .cpu_ms = 20 },
	  CHECK_CPU,
	  CHECK_FAILED,
	  false,
	  "the replay uses 0.0 ms of CPU time, the recorded threads used 60.0 ms: "
	  "`main` (1) used a CPU in calls that the replay takes for waiting" },
	/* 12 */
	{ { .run_ms = 50 },
	  CHECK_CPU,
	  CHECK_FAILED,
	  false,
	  "the replay uses 50.0 ms of CPU time, the recorded threads used 0.0 ms: `worker` (2) was "
	  "off the CPU for an unknown reason" },
	/* 13 */ { { .cpu_ms = 90 }, CHECK_CPU, CHECK_WITHHOLDS, true, NULL },
	/* 14 */
	{ { .unresolved_ms = 50 },
	  CHECK_FALLBACK,
	  CHECK_FAILED,
	  false,
	  "waits of 25% of the time have no known cause, most of it in `out` (sleep): the "
	  "replay keeps them" },
	/* 15 */
	{ { .unresolved_ms = 185 }, CHECK_FALLBACK, CHECK_WITHHOLDS, true, NULL },
	/* 16 */
	{ { .forced = 1 },
	  CHECK_FORCED,
	  CHECK_WITHHOLDS,
	  true,
	  "1 waits had to be ended by force: their wakeup never comes in the replay" },
	/* 17 */
	{ { .others_cpus = 0.2, .asks_of_cpus = true },
	  CHECK_OTHERS,
	  CHECK_FAILED,
	  false,
	  "other programs used 0.20 of the 1 CPUs: what another number of CPUs brings depends on "
	  "how many of them those would use" },
	/* 18 */
	{ { .others_cpus = 0.5, .asks_of_cpus = true }, CHECK_OTHERS, CHECK_WITHHOLDS, true, NULL },
	/* 19: as busy as it was */
	{ { .others_cpus = 0.5 }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 20 */
	{ { .others_cpus = 0.05, .asks_of_cpus = true }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 21: locks in place of requests */
	{ { .slow_ms = 90, .are_locks = true }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 22: they were on CPUs in calls, and nobody else wanted those */
	{ { .cpu_ms = 20, .blocked_ms = 30 }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 23 */
	{ { .cpu_ms = 20, .blocked_ms = 30, .are_busy = true },
	  CHECK_CPU,
	  CHECK_FAILED,
	  false,
	  NULL },
	/* 24 */
	{ { .cpu_ms = 50, .blocked_ms = 20 }, CHECK_CPU, CHECK_FAILED, false, NULL },
	/* 25: whose end is no matter */
	{ { .first_late_ms = -150, .cpu_ms = 2, .is_idle = true },
	  CHECK_COUNT,
	  CHECK_PASSED,
	  false,
	  "" },
	/* 26 */ { { .slow_ms = 3 }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 27 */
	{ { .slow_ms = 90 },
	  CHECK_LATENCY,
	  CHECK_WITHHOLDS,
	  false,
	  "requests took 10.0 ms (median; p99 10.0 ms), in the replay they take 10.0 ms (p99 "
	  "100 ms): do not trust what is predicted for requests" },
	/* 28: whose end is no matter, either */
	{ { .first_late_ms = -150, .ticks = true }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 29 */
	{ { .spun_ms = 2, .most_spun_ms = 2 }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 30 */
	{ { .spun_ms = 12, .most_spun_ms = 10 },
	  CHECK_SPINNING,
	  CHECK_FAILED,
	  false,
	  "`spin` (thread `worker`) spins for about 10 ms (as do others), polling memory until "
	  "another thread writes: the replay takes that for work" },
	/* 31: by one thread */
	{ { .spun_ms = 30, .most_spun_ms = 30, .has_two_cpus = true },
	  CHECK_SPINNING,
	  CHECK_WITHHOLDS,
	  true,
	  NULL },
	/* 32: by two, in turns */
	{ { .spun_ms = 30, .most_spun_ms = 15 }, CHECK_SPINNING, CHECK_WITHHOLDS, true, NULL },
	/* 33: by two, at the same time as it may be */
	{ { .spun_ms = 30, .most_spun_ms = 15, .has_two_cpus = true },
	  CHECK_SPINNING,
	  CHECK_FAILED,
	  false,
	  NULL },
	/* 34 */
	{ { .spun_ms = 30, .most_spun_ms = 30, .is_forced = true },
	  CHECK_SPINNING,
	  CHECK_WITHHOLDS,
	  false,
	  NULL },
	/* 35 */
	{ { .cpu_ms = 20, .blocked_ms = 30, .has_no_samples = true },
	  CHECK_SPINNING,
	  CHECK_UNKNOWN,
	  false,
	  "" },
	/* 36: they did next to nothing on CPUs */
	{ { .has_no_samples = true }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 37: nothing is compared with a replay that has no end */
	{ { .is_endless = true },
	  CHECK_ENDLESS,
	  CHECK_WITHHOLDS,
	  true,
	  "the replay of the unchanged run comes to no end and was stopped: it has no answer" },
	/* 38 */
	{ { .endless_rows = 1 },
	  CHECK_ENDLESS,
	  CHECK_FAILED,
	  false,
	  "the replay of `out`, changed comes to no end, or to a later one, and only by "
	  "force: that change has no answer, smaller ones may" },
	/* 39 */
	{ { .endless_rows = 2 }, CHECK_ENDLESS, CHECK_WITHHOLDS, true, NULL },
	/* 40 */
	{ { .run_ms = 50, .queued_ms = 10 },
	  CHECK_CPU,
	  CHECK_FAILED,
	  false,
	  "the replay uses 50.0 ms of CPU time, the recorded threads used 0.0 ms: `worker` (2) "
	  "waited in the run queue" },
	/* 41 */
	{ { .crossing_ms = 20.2, .asks_of_cpus = true },
	  CHECK_CROSSING,
	  CHECK_FAILED,
	  false,
	  "`cpus 2` may be off by 10%: what it costs to wake a thread on another CPU is not in the "
	  "recording, nor how often the kernel lets it run there" },
	/* 42 */
	{ { .crossing_ms = 1, .asks_of_cpus = true }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 43 */
	{ { .crossing_ms = 300, .asks_of_cpus = true },
	  CHECK_CROSSING,
	  CHECK_WITHHOLDS,
	  true,
	  NULL },
	/* 44 */ { { .crossing_ms = 300 }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 45: a container's limit */
	{ { .stopped_ms = 6 },
	  CHECK_QUOTA,
	  CHECK_FAILED,
	  false,
	  "a quota of 0.50 CPUs (cgroup) stopped `program` for 6 ms, added over CPUs: the replay "
	  "knows no quotas" },
	/* 46 */ { { .stopped_ms = 1 }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 47 */ { { .stopped_ms = 1000 }, CHECK_QUOTA, CHECK_WITHHOLDS, true, NULL },
	/* 48: of 202 ms */
	{ { .own_ms = 40.4, .used_ms = 100 },
	  CHECK_OWN,
	  CHECK_FAILED,
	  false,
	  "recording took up to 20% of the run, most of it in the figures as the program's own: "
	  "record a longer run, or less (WCPROF_MIN_IO_NS, WCPROF_HOLDS)" },
	/* 49 */ { { .own_ms = 10, .used_ms = 15 }, CHECK_COUNT, CHECK_PASSED, false, "" },
	/* 50: of 500 ms, on several CPUs */
	{ { .own_ms = 40.4, .used_ms = 500 }, CHECK_COUNT, CHECK_PASSED, false, "" },
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
	struct asked_answer answer;
};

/* The unchanged run, replayed, and the ones that came to no end. */
static void replays_fill(struct whatif *whatif, const struct trouble *trouble)
{
	whatif->baseline =
		(struct replay_answer){ .makespan_ns = (202 + trouble->late_ms) * 1e6,
					.forced_steps = trouble->forced,
					.ran_away = trouble->is_endless,
					.requests_ns = { [REQUEST_P50] = 10e6,
							 [REQUEST_P99] =
								 (10 + trouble->slow_ms) * 1e6 } };
	whatif->recorded = whatif->baseline;
	whatif->endless_count = trouble->endless_rows;
	whatif->tried_count = whatif->row_count + trouble->endless_rows;
	whatif->endless_class = whatif->rows[0].class;
}

/* All take 10 ms. */
static void requests_fill(struct found *found, const struct trouble *trouble, uint32_t class)
{
	enum request_source source = trouble->are_locks ? REQUEST_LOCK : REQUEST_ASKED;

	for (size_t i = 0; i < REQUESTS; i++)
		found->requests[i] = (struct request){ .class = class,
						       .source = source,
						       .taken_ns = 10 * SKETCH_MS };
	found->analysis.script.requests = (struct requests){ .requests = found->requests,
							     .count = REQUESTS,
							     .judged_class = class,
							     .judged_source = source,
							     .judged_count = REQUESTS };
}

static void found_fill(struct found *found, const struct trouble *trouble)
{
	struct analysis *analysis = &found->analysis;
	memset(found, 0, sizeof(*found));
	sketch_fill(&found->sketch);
	found->sketch.rec.dropped_events = trouble->dropped;
	found->sketch.rec.processes[0].quota_milli_cpus = 500;
	found->sketch.rec.processes[0].stopped_ns = (uint64_t)(trouble->stopped_ms * 1e6);
	found->sketch.rec.processes[0].own_ns = 1 + (uint64_t)(trouble->own_ms * 1e6);
	found->sketch.rec.processes[0].own_window_ns = (uint64_t)(trouble->own_ms * 1e6);
	found->sketch.rec.processes[0].cpu_ns = (uint64_t)(trouble->used_ms * 1e6);
	found->options = (struct options){ .factors = { { 0, 0.5 }, 2 },
					   .cpus = trouble->has_other_cpus ? 4 : 0,
					   .force = trouble->is_forced };
	found->labels.spins = (struct spins){ .looked_ns = trouble->has_no_samples ? 0 : 1,
					      .total_ns = (uint64_t)(trouble->spun_ms * 1e6),
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
	analysis->script =
		(struct script){ .actors = found->actors,
				 .actor_count = 3,
				 .recorded_cpus = trouble->has_two_cpus ? 2 : 1,
				 .idle_share = trouble->are_busy ? 0 : 1,
				 .others = { .cpus = trouble->others_cpus, .is_known = true },
				 .steps = found->steps,
				 .step_count = 2,
				 .unresolved_wait = NO_INDEX,
				 .unresolved_ns = found->unresolved_ns[out],
				 .unresolved_of_class_ns = found->unresolved_ns };
	analysis->threads = (struct thread_table){ .rows = found->times, .count = 3 };
	found->estimates[1].saved_ns = 50e6; /* of 202 at half */
	found->answer = (struct asked_answer){ .text = "cpus 2",
					       .estimate.crossing_ns = trouble->crossing_ms * 1e6,
					       .is_about_cpus = trouble->asks_of_cpus };
	analysis->asked = (struct asked){ .answers = &found->answer, .count = 1 };
	requests_fill(found, trouble, out);
	found->row = (struct whatif_row){ .class = out, .estimates = found->estimates };
	analysis->whatif = (struct whatif){ .rows = &found->row,
					    .row_count = 1,
					    .baseline_finish_ns = found->finish_ns,
					    .finish_count = trouble->has_no_script ? 0 : 3 };
	replays_fill(&analysis->whatif, trouble);
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
			bool never_ran =
				id == CHECK_PINNED || id == CHECK_SENSITIVITY ||
				id == CHECK_ORDER || id == CHECK_LOOKS || id == CHECK_ENDERS ||
				id == CHECK_STOPS || id == CHECK_IDLE || id == CHECK_CLOCK ||
				id == CHECK_GROUPS || id == CHECK_UNRULY || id == CHECK_UNSEEN ||
				(id == CHECK_LATENCY && rows[_i].trouble.are_locks) ||
				(id == CHECK_CPU && rows[_i].trouble.cpu_ms == 0);

			ck_assert_msg(checks.rows[id].state ==
					      (never_ran ? CHECK_UNKNOWN : rows[_i].state),
				      "%s: %s", verdict_check_name(id), checks.rows[id].line);
		}
	}
	ck_assert_int_eq(checks.is_withheld, rows[_i].is_withheld);
	ck_assert_int_eq(checks.gravest != CHECK_COUNT,
			 rows[_i].id != CHECK_LATENCY && rows[_i].state == CHECK_WITHHOLDS);
	bool is_withheld = rows[_i].state == CHECK_WITHHOLDS || rows[_i].trouble.are_locks;
	ck_assert_int_eq(checks.is_figure_withheld[REQUEST_P99],
			 is_withheld && !rows[_i].trouble.is_forced);
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

/* Which thread of a pool has the last job is chance, if they are there until the run's end. */
START_TEST(of_threads_that_had_not_ended_the_last_one_counts)
{
	for (int is_open = 0; is_open <= 1; is_open++) {
		struct found found;
		struct checks checks;
		found_fill(&found, &rows[0].trouble);
		for (uint32_t t = 1; t <= 2; t++) {
			const struct rec_thread *thread = &found.sketch.rec.threads[t];
			found.sketch.rec.extras[thread->op].open = is_open;
		}
		found.finish_ns[1] = 40 * SKETCH_MS;
		check(&checks, &found.analysis);
		ck_assert_double_eq_tol(checks.rows[CHECK_THREADS].value, is_open ? 0 : 75.2, 0.1);
		sketch_free(&found.sketch);
	}
}
END_TEST

/* Main takes jobs, as the workers do: it ends when one of them did, and that one when main did. */
START_TEST(threads_of_one_pool_stand_for_each_other)
{
	for (uint32_t jobs = 0; jobs <= 1; jobs++) {
		struct job_list source = { .count = jobs };
		struct found found;
		struct checks checks;
		found_fill(&found, &rows[0].trouble);
		found.steps[0] = (struct step){ .type = STEP_TAKE };
		found.actors[0].first_step = found.actors[2].first_step = 0;
		found.analysis.script.jobs = &source;
		found.analysis.script.source_count = 1;
		found.actors[0].finish_ns = 100 * SKETCH_MS;
		found.finish_ns[1] = 100 * SKETCH_MS;
		found.finish_ns[0] = 192 * SKETCH_MS;
		check(&checks, &found.analysis);
		ck_assert_double_eq_tol(checks.rows[CHECK_THREADS].value, jobs ? 0 : 45.5, 0.1);
		sketch_free(&found.sketch);
	}
}
END_TEST

/* Nothing to say is not the same as nothing wrong. */
START_TEST(what_is_not_recorded_is_unknown)
{
	struct found found;
	struct checks checks;
	found_fill(&found, &rows[0].trouble);
	found.times[0].has_cpu = false;
	check(&checks, &found.analysis);
	ck_assert_int_eq(checks.rows[CHECK_CPU].state, CHECK_UNKNOWN);
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
		const struct trouble trouble = { .cpu_ms = cases[i].cpu_ms };
		struct found found;
		struct checks checks;
		found_fill(&found, &trouble);
		check(&checks, &found.analysis);
		ck_assert_int_eq(checks.rows[CHECK_CPU].state, cases[i].state);
		sketch_free(&found.sketch);
	}
}
END_TEST

/* The replay is wrong by construction; and its twin, of which it is right. */
START_TEST(a_replay_that_the_recording_contradicts_is_withheld)
{
	static const enum check_state states[] = { CHECK_PASSED, CHECK_WITHHOLDS };
	struct options options = {
		.top = 10, .factors = { { 0, 0.5 }, 2 }, .class_regex = "", .model = "threads"
	};

	for (int looks = 0; looks < 2; looks++) {
		struct sketch sketch;
		struct analysis analysis;
		char error[OPTIONS_ERROR_BYTES];
		looking_sketch(&sketch, looks);
		ck_assert_int_eq(analysis_build(&analysis, &sketch.rec, &options, NULL, error), 0);
		const struct check *check = &analysis.checks.rows[CHECK_SENSITIVITY];
		ck_assert_int_eq(check->state, states[looks]);
		ck_assert(looks == (strstr(check->line, "`sync` (io)") != NULL));
		analysis_free(&analysis);
		sketch_free(&sketch);
	}
}
END_TEST

SUITE()
{
	TEST(a_replay_that_the_recording_contradicts_is_withheld);
	EACH(what_is_wrong_fails_and_is_said, rows);
	TEST(threads_of_one_class_stand_for_each_other);
	TEST(of_threads_that_had_not_ended_the_last_one_counts);
	TEST(threads_of_one_pool_stand_for_each_other);
	TEST(what_is_not_recorded_is_unknown);
	TEST(next_to_no_cpu_time_is_no_measure);
}
