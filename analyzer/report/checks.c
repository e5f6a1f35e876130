/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a replay against the run that it was made from; checks.h has the contract.
 *
 * Each check sets a figure, and writes a line with the cause. Whether the figure is too high, and
 * answers are withheld for it, is decided in verdict.c.
 *
 * The mutation check makes a replay of its own: it finds answers that come from times which were
 * pinned to the recording. Where threads take turns on CPUs, a small change may shift which of them
 * meet, and help. So a class that fails is tried again with a change that is too large for that.
 */
#include "checks.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "base/emit.h"
#include "base/memory.h"
#include "base/percentile.h"
#include "facts.h"
#include "verdict.h"

static const double SLOWER = 1.1;           /* the mutation */
static const double MUCH_SLOWER = 2;        /* the second one */
static const double NOTHING = 0.01;         /* of all CPU time */
static const double MOVES_AT_LEAST = 0.002; /* of the makespan: a smaller change is no test */

static const char *thread_name(const struct analysis *analysis, uint32_t thread)
{
	assert(thread < analysis->recording->thread_count);
	uint32_t op = analysis->recording->threads[thread].op;
	return op == NO_INDEX ? "?" : facts_class_name(analysis, analysis->classes.of_op[op]);
}

static double percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void check_drops(struct check *check, const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	double kept = (double)(recording->op_count + recording->wait_count);
	double dropped = (double)recording->dropped_events;
	check->state = CHECK_PASSED;
	check->value = percent_of(dropped, kept + dropped);
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
static void check_spinning(struct check *check, const struct analysis *analysis)
{
	if (!analysis->has_script || !analysis->labels || !analysis->recording->sample_count)
		return;
	const struct spins *spins = &analysis->labels->spins;
	double at_least_ns = fmax((double)spins->thread_ns,
				  (double)spins->total_ns / analysis->script.recorded_cpus);
	check->state = CHECK_PASSED;
	check->value = percent_of(at_least_ns, (double)analysis->actual_makespan_ns);
	if (!spins->total_ns)
		return;
	snprintf(check->line, sizeof(check->line),
		 "`%.50s` (thread `%.40s`) spins for about %" PRIu64 " ms%s, polling memory until "
		 "another thread writes: the replay takes that for work",
		 spins->function ? analysis->recording->strings[spins->function] : "?",
		 thread_name(analysis, spins->thread), (spins->most_ns + 500000) / 1000000,
		 spins->most_ns < spins->total_ns ? " (as do others)" : "");
}

/* --- the run as it was --- */

/* When a thread ended, since the first one began. */
struct finish {
	uint32_t class;
	uint32_t thread;
	uint64_t at_ns;
};

/* Threads of one class stand for each other: which of them gets the last job is chance. */
static int compare_finishes(const void *left, const void *right)
{
	const struct finish *a = left, *b = right;
	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

struct thread_drift {
	uint64_t p95_ns; /* 95th percentile of what finishes are off by, either way */
	double worst_ns; /* positive: too late */
	uint32_t worst;  /* thread, NO_INDEX = the replay does not tell */
};

/* By thread: whether it is no matter when it ends, as it used hardly any of the CPU time. To be
 * freed. */
static bool *threads_doing_nothing(const struct analysis *analysis, size_t count)
{
	const struct thread_table *threads = &analysis->threads;
	bool *are_idle = memory_new(count, sizeof(*are_idle));
	double all_ns = 0;
	for (uint32_t i = 0; i < threads->count; i++)
		all_ns += (double)threads->rows[i].cpu_ns;
	for (uint32_t i = 0; i < threads->count; i++)
		if (threads->rows[i].thread < count)
			are_idle[threads->rows[i].thread] =
				threads->rows[i].has_cpu &&
				(double)threads->rows[i].cpu_ns < NOTHING * all_ns;
	return are_idle;
}

static struct thread_drift thread_drift(const struct analysis *analysis)
{
	const struct script *script = &analysis->script;
	const struct recording *recording = analysis->recording;
	size_t all = analysis->whatif.finish_count, count = 0;
	struct thread_drift drift = { .worst = NO_INDEX };
	struct finish *recorded = memory_new(all, sizeof(*recorded));
	struct finish *replayed = memory_new(all, sizeof(*replayed));
	uint64_t *off_ns = memory_new(all, sizeof(*off_ns));
	bool *are_idle = threads_doing_nothing(analysis, all);
	assert(all <= script->actor_count);
	for (uint32_t t = 0; t < all; t++) {
		if (are_idle[t] || script->actors[t].ticks)
			continue;
		uint32_t op = recording->threads[t].op;
		uint32_t class = op == NO_INDEX ? NO_INDEX : analysis->classes.of_op[op];
		uint64_t finish_ns = script->actors[t].finish_ns;
		recorded[count] = (struct finish){
			class, t, finish_ns > script->start_ns ? finish_ns - script->start_ns : 0
		};
		replayed[count++] =
			(struct finish){ class, t, analysis->whatif.baseline_finish_ns[t] };
	}
	qsort(recorded, count, sizeof(*recorded), compare_finishes);
	qsort(replayed, count, sizeof(*replayed), compare_finishes);
	for (size_t i = 0; i < count; i++) {
		double later_ns = (double)replayed[i].at_ns - (double)recorded[i].at_ns;
		off_ns[i] = (uint64_t)fabs(later_ns);
		if (drift.worst != NO_INDEX && fabs(later_ns) <= fabs(drift.worst_ns))
			continue;
		drift.worst = recorded[i].thread;
		drift.worst_ns = later_ns;
	}
	drift.p95_ns = count ? percentile_select(off_ns, count, (count * 95 + 99) / 100 - 1) : 0;
	free(recorded);
	free(replayed);
	free(off_ns);
	free(are_idle);
	return drift;
}

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

static void check_drift(struct check *check, const struct analysis *analysis)
{
	double drift_percent = facts_drift_percent(analysis);
	const struct thread_drift drift = thread_drift(analysis);
	char thread[100] = "";
	if (analysis->options->cpus > 0)
		return; /* it is another machine's run */
	if (drift.worst != NO_INDEX)
		snprintf(thread, sizeof(thread), " (thread `%.40s` %" PRIu32 " by %+.1f%%)",
			 thread_name(analysis, drift.worst),
			 analysis->recording->threads[drift.worst].tid,
			 percent_of(drift.worst_ns, (double)analysis->actual_makespan_ns));
	check->state = CHECK_PASSED;
	check->value = fabs(drift_percent);
	snprintf(
		check->line, sizeof(check->line),
		"the replay of the unchanged run is off by %+.1f%%%s: do not trust smaller savings",
		drift_percent, thread);
}

static void check_threads(struct check *check, const struct analysis *analysis)
{
	double actual_ns = (double)analysis->actual_makespan_ns;
	const struct thread_drift drift = thread_drift(analysis);
	if (analysis->options->cpus > 0 || drift.worst == NO_INDEX)
		return;
	check->state = CHECK_PASSED;
	check->value = percent_of((double)drift.p95_ns, actual_ns);
	snprintf(check->line, sizeof(check->line),
		 "one thread in 20 ends too early or too late in the replay, by %.1f%% of the "
		 "makespan or more; the worst is `%.40s` (%" PRIu32 ") with %+.1f%%",
		 check->value, thread_name(analysis, drift.worst),
		 analysis->recording->threads[drift.worst].tid,
		 percent_of(drift.worst_ns, actual_ns));
}

/* How long a thread runs in the replay. */
static double run_ns_of(const struct script *script, uint32_t thread)
{
	double run_ns = 0;
	assert(thread < script->actor_count);
	const struct step *step = &script->steps[script->actors[thread].first_step];
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
		if (!script->was_crowded && own_ns < row_ns)
			own_ns = fmin(row_ns, own_ns + (double)row->blocked_ns);
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
	check->value = percent_of(fabs(run_ns - cpu_ns),
				  fmin(script->recorded_cpus, (double)script->actor_count) *
					  (double)analysis->actual_makespan_ns);
	snprintf(check->line, sizeof(check->line),
		 "the replay uses %.1f ms of CPU time, the recorded threads used %.1f ms: `%.40s` "
		 "(%" PRIu32 ") %s",
		 run_ns / 1e6, cpu_ns / 1e6, thread_name(analysis, worst->thread),
		 analysis->recording->threads[worst->thread].tid, why);
}

/* --- what had to be assumed --- */

static void check_fallback(struct check *check, const struct analysis *analysis)
{
	char class[120];
	name_worst_class(analysis, class, sizeof(class));
	check->state = CHECK_PASSED;
	check->value = facts_unexplained_percent(analysis);
	snprintf(check->line, sizeof(check->line),
		 "%.0f%% of the waiting time has no known cause%s: the replay keeps its length",
		 check->value, class);
}

static void check_forced(struct check *check, const struct analysis *analysis)
{
	uint64_t forced = analysis->whatif.baseline.forced_steps;
	check->state = CHECK_PASSED;
	check->value = percent_of((double)forced, (double)(analysis->recording->op_count +
							   analysis->recording->wait_count));
	snprintf(check->line, sizeof(check->line),
		 "%" PRIu64
		 " waits had to be ended by force: their wakeup never comes in the replay",
		 forced);
}

/* --- whether a change changes anything --- */

/* The growth of the makespan if a class takes twice as long, going by its saving if it gets faster.
 */
static double expected_growth_ns(const struct analysis *analysis, const struct whatif_row *row)
{
	const struct factor_list *list = &analysis->options->factors;
	size_t nearest = FACTORS_MAX;
	for (size_t f = 0; f < list->count; f++)
		if (list->factors[f] < 1 &&
		    (nearest == FACTORS_MAX || list->factors[f] > list->factors[nearest]))
			nearest = f;
	return nearest == FACTORS_MAX
		       ? 0
		       : row->estimates[nearest].saved_ns / (1 - list->factors[nearest]);
}

static double growth_ns(const struct analysis *analysis, const struct replayer *replayer,
			struct scaling scaling)
{
	const struct trial trial = { .scalings = &scaling, .count = 1 };
	return replayer_try(replayer, &trial).makespan_ns - analysis->whatif.baseline.makespan_ns;
}

/* Percent of the growth that does not come. */
static double missing_percent(double grown_ns, double expected_ns)
{
	return fmax(100 - percent_of(grown_ns / expected_ns, 1), 0);
}

static void check_mutation(struct check *check, const struct analysis *analysis,
			   const struct replayer *replayer)
{
	const struct whatif *whatif = &analysis->whatif;
	double double_ns = whatif->row_count ? expected_growth_ns(analysis, &whatif->rows[0]) : 0;
	double expected_ns = double_ns * (SLOWER - 1);
	if (!(fabs(expected_ns) > MOVES_AT_LEAST * whatif->baseline.makespan_ns))
		return;
	struct scaling scaling = { whatif->rows[0].class, SLOWER };
	double grown_ns = growth_ns(analysis, replayer, scaling);
	check->state = CHECK_PASSED;
	check->value = missing_percent(grown_ns, expected_ns);
	if (check->value > verdict_failed_above(CHECK_MUTATION)) {
		scaling.factor = MUCH_SLOWER;
		check->value =
			fmin(check->value, missing_percent(growth_ns(analysis, replayer, scaling),
							   double_ns * (MUCH_SLOWER - 1)));
	}
	snprintf(check->line, sizeof(check->line),
		 "with `%.60s` (%s) 10%% slower the replay grows by %+.1f%%, where its saving "
		 "implies about %+.1f%%: that saving may not be real",
		 facts_class_name(analysis, scaling.class),
		 facts_class_kind(analysis, scaling.class),
		 percent_of(grown_ns, whatif->baseline.makespan_ns),
		 percent_of(expected_ns, whatif->baseline.makespan_ns));
}

/* --- what requests take --- */

static double off_percent(double recorded_ns, double replayed_ns)
{
	return percent_of(fabs(replayed_ns - recorded_ns), fmax(recorded_ns, replayed_ns));
}

/* Their makespan may be right all the same: many that queue a little longer take no CPU. */
static void check_latency(struct check *check, const struct analysis *analysis)
{
	const struct requests *requests = &analysis->script.requests;
	const struct replay_answer *replayed = &analysis->whatif.baseline;
	if (!analysis->has_script || requests->judged_class == NO_INDEX || !requests->count ||
	    analysis->options->cpus > 0)
		return;
	uint64_t *taken_ns = memory_new(requests->count, sizeof(*taken_ns));
	size_t count = 0;
	for (size_t i = 0; i < requests->count; i++)
		if (request_is_judged(requests, &requests->requests[i]))
			taken_ns[count++] = requests->requests[i].taken_ns;
	assert(count > 0);
	double p50_ns = (double)percentile_select(taken_ns, count, count / 2);
	double p99_ns = (double)percentile_select(taken_ns, count, count * 99 / 100);
	free(taken_ns);
	check->state = CHECK_PASSED;
	check->value =
		fmax(off_percent(p50_ns, replayed->p50_ns), off_percent(p99_ns, replayed->p99_ns));
	char took[4][EMIT_DURATION_BYTES];
	emit_format_duration(took[0], p50_ns);
	emit_format_duration(took[1], p99_ns);
	emit_format_duration(took[2], replayed->p50_ns);
	emit_format_duration(took[3], replayed->p99_ns);
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
	check_drift(&checks->rows[CHECK_DRIFT], analysis);
	check_threads(&checks->rows[CHECK_THREADS], analysis);
	check_cpu(&checks->rows[CHECK_CPU], analysis);
	check_fallback(&checks->rows[CHECK_FALLBACK], analysis);
	check_forced(&checks->rows[CHECK_FORCED], analysis);
	check_mutation(&checks->rows[CHECK_MUTATION], analysis, replayer);
	check_latency(&checks->rows[CHECK_LATENCY], analysis);
}
