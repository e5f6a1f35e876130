/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a replay against the run that it was made from; checks.h has the contract.
 *
 * Each check sets a figure, and writes a line with the cause. Whether the figure is too high, and
 * answers are withheld for it, is decided in verdict.c.
 */
#include "checks.h"
#include "recording/programs.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "base/emit.h"
#include "base/memory.h"
#include "checks_parts.h"
#include "facts.h"
#include "infer/handed_answers.h"
#include "requestfigures.h"
#include "verdict.h"

static void check_drops(struct check *check, const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	double kept = (double)(recording->op_count + recording->wait_count);
	double dropped = (double)recording->dropped_events;
	check->state = CHECK_PASSED;
	check->value = checks_percent(dropped, kept + dropped);
	snprintf(check->line, sizeof(check->line),
		 "%" PRIu64 " events were dropped while recording: all figures are too low by an "
		 "unknown amount; record less, or with a larger WCPROF_MAX_EVENTS",
		 recording->dropped_events);
}

/*
 * A thread that waits on a CPU works in the replay, which does not know its reason. That part
 * of the makespan may be another thread's, and no saving there is found. The part is at least the
 * time of the thread that spun most. It is also at least the time that all threads together would
 * have spun on all CPUs at once.
 */
static const double LOOKED_AT_LEAST = 0.5; /* of the CPU time */

/* Without samples of code that is here nothing is known, unless it cannot matter. */
static bool is_looked_for(const struct analysis *analysis)
{
	const struct thread_table *threads = &analysis->threads;
	double most_ns = 0, all_ns = (double)analysis->script.cpu_ns;
	bool has_cpu = threads->count > 0;
	for (uint32_t i = 0; i < threads->count; i++) {
		most_ns = fmax(most_ns, (double)threads->rows[i].cpu_ns);
		has_cpu = has_cpu && threads->rows[i].has_cpu;
	}
	bool is_little = has_cpu && checks_percent(most_ns, facts_recorded_ns(analysis)) <=
					    verdict_failed_above(CHECK_SPINNING);
	return is_little || threads->count == 1 ||
	       (analysis->labels &&
		(double)analysis->labels->spins.looked_ns > LOOKED_AT_LEAST * all_ns);
}

static void check_spinning(struct check *check, const struct analysis *analysis)
{
	static const struct spins nothing;
	const struct spins *spins = analysis->labels ? &analysis->labels->spins : &nothing;
	if (!analysis->has_script || (!spins->total_ns && !is_looked_for(analysis)))
		return;
	double at_least_ns = fmax((double)spins->thread_ns,
				  (double)spins->total_ns / analysis->script.recorded_cpus);
	check->state = CHECK_PASSED;
	check->value = checks_percent(at_least_ns, facts_recorded_ns(analysis));
	if (!spins->total_ns)
		return;
	snprintf(check->line, sizeof(check->line),
		 "`%.50s` (thread `%.40s`) spins for about %" PRIu64 " ms%s, polling memory until "
		 "another thread writes: the replay takes that for work",
		 spins->function ? analysis->recording->strings[spins->function] : "?",
		 facts_thread_name(analysis, spins->thread), (spins->most_ns + 500000) / 1000000,
		 spins->most_ns < spins->total_ns ? " (as do others)" : "");
}

/* --- the run as it was --- */

/* The class in which most time was waited for nobody knows what; NO_INDEX = there is none. */
static uint32_t worst_class(const struct analysis *analysis)
{
	uint32_t worst = NO_INDEX;
	const uint64_t *unresolved_ns = analysis->script.unresolved_of_class_ns;
	for (uint32_t i = 0; unresolved_ns && i < analysis->classes.count; i++)
		if (unresolved_ns[i] &&
		    (worst == NO_INDEX || unresolved_ns[i] > unresolved_ns[worst]))
			worst = i;
	return worst;
}

/* ", most of it in `class` (kind)", or nothing. */
static void name_worst_class(const struct analysis *analysis, char *text, size_t text_bytes)
{
	uint32_t worst = worst_class(analysis);
	text[0] = '\0';
	if (worst != NO_INDEX)
		snprintf(text, text_bytes, ", most of it in `%.60s` (%s)",
			 facts_class_name(analysis, worst), facts_class_kind(analysis, worst));
}

static void name_worst_thread(const struct analysis *analysis, char *text, size_t text_bytes)
{
	const struct thread_drift drift = checks_thread_drift(analysis);
	text[0] = '\0';
	if (drift.worst != NO_INDEX)
		snprintf(text, text_bytes, " (thread `%.40s` %" PRIu32 " by %+.1f%%)",
			 facts_thread_name(analysis, drift.worst),
			 analysis->recording->threads[drift.worst].tid,
			 checks_percent(drift.worst_ns, facts_recorded_ns(analysis)));
}

static void check_drift(struct check *check, const struct analysis *analysis)
{
	double percent = facts_drift_percent(analysis);
	char thread[100];
	if (analysis->options->cpus > 0)
		return; /* it is another machine's run */
	name_worst_thread(analysis, thread, sizeof(thread));
	check->state = CHECK_PASSED;
	check->value = fabs(percent);
	snprintf(
		check->line, sizeof(check->line),
		"the replay of the unchanged run is off by %+.1f%%%s: do not trust smaller savings",
		percent, thread);
}

static bool is_asked_about_cpus(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->asked.count; i++)
		if (analysis->asked.answers[i].is_about_cpus)
			return true;
	return analysis->options->cpus > 0;
}

/* Other programs would use more of more CPUs, and less of fewer: how much, only they know. */
static void check_others(struct check *check, const struct analysis *analysis)
{
	const struct others *others = &analysis->script.others;
	if (!analysis->has_script || !others->is_known)
		return;
	check->state = CHECK_PASSED;
	check->value = is_asked_about_cpus(analysis)
			       ? checks_percent(others->cpus, analysis->script.recorded_cpus)
			       : 0;
	snprintf(check->line, sizeof(check->line),
		 "other programs used %.2f of the %.0f CPUs: what another number of CPUs brings "
		 "depends on how many of them those would use",
		 others->cpus, analysis->script.recorded_cpus);
}

/* Processes of one cgroup are stopped together: the one that was stopped longest stands for all. */
static void check_quota(struct check *check, const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	const struct rec_process *most = NULL;
	for (size_t i = 0; i < recording->process_count; i++)
		if (recording->processes[i].quota_milli_cpus > 0 &&
		    (!most || recording->processes[i].stopped_ns > most->stopped_ns))
			most = &recording->processes[i];
	if (!analysis->has_script || !most)
		return;
	check->state = CHECK_PASSED;
	check->value =
		fmin(100, checks_percent((double)most->stopped_ns, facts_recorded_ns(analysis)));
	snprintf(check->line, sizeof(check->line),
		 "a quota of %.2f CPUs (cgroup) stopped `%.60s` for %.0f ms, added over CPUs: the "
		 "replay knows no quotas",
		 (double)most->quota_milli_cpus / 1e3,
		 program_called(recording, (uint32_t)(most - recording->processes)),
		 (double)most->stopped_ns / 1e6);
}

/* The cost of waking a thread on another CPU is in no recording, nor whether it gets there. */
static void check_crossing(struct check *check, const struct analysis *analysis)
{
	double worst_ns = -1;
	const char *text = "";
	if (!analysis->has_script)
		return;
	for (size_t i = 0; i < analysis->asked.count; i++) {
		const struct asked_answer *answer = &analysis->asked.answers[i];
		if (!answer->is_about_cpus || answer->estimate.crossing_ns <= worst_ns)
			continue;
		worst_ns = answer->estimate.crossing_ns;
		text = answer->text;
	}
	check->state = CHECK_PASSED;
	check->value = checks_percent(fmax(worst_ns, 0), facts_replayed_ns(analysis));
	snprintf(check->line, sizeof(check->line),
		 "`%.60s` may be off by %.0f%%: what it costs to wake a thread on another CPU is "
		 "not in the recording, nor how often the kernel lets it run there",
		 text, check->value);
}

/* How long a thread runs in the replay. */
static double run_ns_of(const struct script *script, uint32_t thread)
{
	double run_ns = 0;
	assert(thread < script->actor_count);
	const struct actor *actor = &script->actors[thread];
	const struct step *step = &script->steps[actor->first_step + actor->startup_steps];
	for (; step->type != STEP_END; step++)
		if (step->type == STEP_RUN)
			run_ns += (double)step->ns;
	return run_ns;
}

/* Why threads run for longer in the replay than they were on CPUs. */
static const char *why_off_cpus(const struct thread_table *threads, double missing_ns)
{
	double queued_ns = 0;
	for (uint32_t i = 0; i < threads->count; i++)
		queued_ns += (double)threads->rows[i].queued_ns;
	return queued_ns >= missing_ns / 2 ? "waited in the run queue"
					   : "was off the CPU for an unknown reason";
}

/* A process takes as much to begin and to end, which no step of the replay is. */
static const double CPU_NS_LEAST = 1e6;

/*
 * Time that runs in the replay was on a CPU in the recording. Where there were enough CPUs it does
 * not matter how much of a call was spent on one, and the replay does not ask.
 */
static void check_cpu(struct check *check, const struct analysis *analysis)
{
	const struct thread_table *threads = &analysis->threads;
	const struct script *script = &analysis->script;
	double cpu_ns = 0, run_ns = 0, worst_ns = -1;
	const struct thread_time *worst = NULL;
	if (!analysis->has_script || isinf(script->recorded_cpus))
		return;
	for (uint32_t i = 0; i < threads->count; i++) {
		const struct thread_time *row = &threads->rows[i];
		double own_ns = run_ns_of(script, row->thread), row_ns = (double)row->cpu_ns;
		if (own_ns < row_ns)
			own_ns =
				fmin(row_ns, own_ns + (double)row->blocked_ns * script->idle_share);
		if (!row->has_cpu)
			return;
		cpu_ns += row_ns;
		run_ns += own_ns;
		if (fabs(own_ns - row_ns) <= worst_ns)
			continue;
		worst_ns = fabs(own_ns - row_ns);
		worst = row;
	}
	if (!worst || fmax(cpu_ns, run_ns) < CPU_NS_LEAST)
		return;
	const char *why = run_ns > cpu_ns ? why_off_cpus(threads, run_ns - cpu_ns)
					  : "used a CPU in calls that the replay takes for waiting";
	check->state = CHECK_PASSED;
	check->value = checks_percent(fabs(run_ns - cpu_ns),
				      fmin(script->recorded_cpus, (double)script->actor_count) *
					      facts_recorded_ns(analysis));
	snprintf(check->line, sizeof(check->line),
		 "the replay uses %.1f ms of CPU time, the recorded threads used %.1f ms: `%.40s` "
		 "(%" PRIu32 ") %s",
		 run_ns / 1e6, cpu_ns / 1e6, facts_thread_name(analysis, worst->thread),
		 analysis->recording->threads[worst->thread].tid, why);
}

/* --- what had to be assumed --- */

static void check_fallback(struct check *check, const struct analysis *analysis)
{
	char class[120], where[PLACE_BYTES] = "";
	name_worst_class(analysis, class, sizeof(class));
	check->state = CHECK_PASSED;
	check->value = facts_unexplained_percent(analysis);
	if (analysis->has_script && check->value > 0 &&
	    analysis->script.unresolved_wait != NO_INDEX) {
		check->place = place_of_wait(analysis, analysis->script.unresolved_wait);
		place_describe(&check->place, where);
	}
	snprintf(check->line, sizeof(check->line),
		 "waits of %.0f%% of the time have no known cause%s: the replay keeps them%s%s",
		 check->value, class, where[0] ? "; the longest: " : "", where);
}

static void check_forced(struct check *check, const struct analysis *analysis)
{
	uint64_t forced = analysis->whatif.baseline.forced_steps;
	char where[PLACE_BYTES] = "";
	if (forced && analysis->has_script)
		check->place = place_of(analysis, analysis->whatif.baseline.stuck);
	if (check->place.action)
		place_describe(&check->place, where);
	check->state = CHECK_PASSED;
	check->value = checks_percent((double)forced, (double)(analysis->recording->op_count +
							       analysis->recording->wait_count));
	snprintf(check->line, sizeof(check->line),
		 "%" PRIu64
		 " waits had to be ended by force: their wakeup never comes in the replay%s%s",
		 forced, where[0] ? "; the first: " : "", where);
}

static size_t endless_answers(const struct analysis *analysis)
{
	size_t count = 0;
	for (size_t i = 0; i < analysis->asked.count; i++)
		count += analysis->asked.answers[i].estimate.is_none;
	return count;
}

/* A replay that was stopped has no answer, nor one that had to be helped to a later end. Of the
 * unchanged run, or of what was asked, that is all there is. */
static void check_endless(struct check *check, const struct analysis *analysis)
{
	const struct whatif *whatif = &analysis->whatif;
	size_t asked = endless_answers(analysis);
	bool is_baseline = whatif->baseline.ran_away;
	char where[PLACE_BYTES] = "", change[80] = "the unchanged run";
	check->state = CHECK_PASSED;
	check->value = is_baseline || asked ? 100
					    : checks_percent((double)whatif->endless_count,
							     (double)whatif->tried_count);
	if (!(check->value > 0))
		return;
	if (is_baseline || whatif->endless_count)
		check->place = place_of(analysis, is_baseline ? whatif->baseline.stuck
							      : whatif->endless_place);
	if (check->place.action)
		place_describe(&check->place, where);
	if (!is_baseline && asked)
		snprintf(change, sizeof(change), "the changes asked for");
	else if (!is_baseline && whatif->endless_class != NO_INDEX)
		snprintf(change, sizeof(change), "`%.60s`, changed",
			 facts_class_name(analysis, whatif->endless_class));
	snprintf(check->line, sizeof(check->line), "the replay of %s comes to no end%s%s%s: %s",
		 change,
		 is_baseline ? " and was stopped" : ", or to a later one, and only by force",
		 where[0] ? ": " : "", where,
		 is_baseline || asked ? "it has no answer"
				      : "that change has no answer, smaller ones may");
}

/* --- what requests take --- */

static double off_percent(double recorded_ns, double replayed_ns)
{
	return checks_percent(fabs(replayed_ns - recorded_ns), fmax(recorded_ns, replayed_ns));
}

/*
 * Their makespan may be right all the same: many that queue a little longer take no CPU. So this
 * check withholds nothing but answers about requests, and of these the figures that are wrong.
 * Where a program has no requests, times from asking for a lock to having it stand in their place:
 * those say nothing of the program.
 */
static void check_latency(struct checks *checks, const struct analysis *analysis)
{
	const struct requests *requests = &analysis->script.requests;
	const struct replay_answer *replayed = &analysis->whatif.baseline;
	struct check *check = &checks->rows[CHECK_LATENCY];
	struct request_figures recorded;
	char took[4][EMIT_DURATION_BYTES];
	if (!analysis->has_script || requests->judged_class == NO_INDEX || !requests->count ||
	    analysis->options->cpus > 0)
		return;
	request_figures_judged(&recorded, requests);
	for (enum request_figure i = 0; i < REQUEST_FIGURES; i++) {
		if (isnan(recorded.ns[i]))
			continue;
		checks->figure_off[i] = off_percent(recorded.ns[i], replayed->requests_ns[i]);
		if (i == REQUEST_P50 || i == REQUEST_P99)
			check->value = fmax(check->value, checks->figure_off[i]);
	}
	const struct script *script = &analysis->script;
	size_t handed = handed_answers_count(script->recording, requests, &script->loops,
					     script->job_of_visit, &script->flows);
	checks->handed_percent = checks_percent((double)handed, (double)requests->judged_count);
	check->state = requests->judged_source == REQUEST_LOCK ? CHECK_UNKNOWN : CHECK_PASSED;
	emit_format_duration(took[0], recorded.ns[REQUEST_P50]);
	emit_format_duration(took[1], recorded.ns[REQUEST_P99]);
	emit_format_duration(took[2], replayed->requests_ns[REQUEST_P50]);
	emit_format_duration(took[3], replayed->requests_ns[REQUEST_P99]);
	snprintf(check->line, sizeof(check->line),
		 "requests took %s (median; p99 %s), in the replay they take %s (p99 %s): do not "
		 "trust what is predicted for requests",
		 took[0], took[1], took[2], took[3]);
}

/* --- all of them --- */

void checks_build(struct checks *checks, const struct analysis *analysis,
		  const struct replayer *replayer)
{
	*checks = (struct checks){ .gravest = CHECK_COUNT };
	check_drops(&checks->rows[CHECK_DROPS], analysis);
	check_spinning(&checks->rows[CHECK_SPINNING], analysis);
	check_quota(&checks->rows[CHECK_QUOTA], analysis);
	checks_own(&checks->rows[CHECK_OWN], analysis);
	checks_leftout(&checks->rows[CHECK_LEFTOUT], analysis);
	check_drift(&checks->rows[CHECK_DRIFT], analysis);
	checks_threads(&checks->rows[CHECK_THREADS], analysis);
	checks_name_astray(checks, analysis, replayer);
	check_cpu(&checks->rows[CHECK_CPU], analysis);
	checks_unseen(&checks->rows[CHECK_UNSEEN], analysis);
	check_others(&checks->rows[CHECK_OTHERS], analysis);
	check_crossing(&checks->rows[CHECK_CROSSING], analysis);
	check_fallback(&checks->rows[CHECK_FALLBACK], analysis);
	check_forced(&checks->rows[CHECK_FORCED], analysis);
	checks_pinned(&checks->rows[CHECK_PINNED], analysis, replayer);
	check_endless(&checks->rows[CHECK_ENDLESS], analysis);
	checks_variation(&checks->rows[CHECK_SENSITIVITY], analysis);
	checks_order(&checks->rows[CHECK_ORDER], analysis);
	checks_looks(&checks->rows[CHECK_LOOKS], analysis, replayer);
	checks_idle(&checks->rows[CHECK_IDLE], analysis, replayer);
	checks_enders(&checks->rows[CHECK_ENDERS], analysis, replayer);
	checks_stops(&checks->rows[CHECK_STOPS], analysis);
	checks_clock(&checks->rows[CHECK_CLOCK], analysis);
	checks_rate(&checks->rows[CHECK_RATE], analysis);
	checks_groups(&checks->rows[CHECK_GROUPS], analysis, replayer);
	checks_unruly(&checks->rows[CHECK_UNRULY], analysis, replayer);
	check_latency(checks, analysis);
}
