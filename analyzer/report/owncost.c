/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of recording itself. See owncost.h.
 */
#include "owncost.h"

#include <math.h>
#include <stdio.h>

#include "analysis.h"
#include "checks_parts.h"
#include "facts.h"

enum { PERCENT_PPM = 10000 };

static struct rec_process add_up(const struct recording *recording)
{
	struct rec_process sum = { 0 };
	for (size_t i = 0; i < recording->process_count; i++) {
		const struct rec_process *process = &recording->processes[i];
		/* Of one that does not tell, the CPU time is no help either. */
		if (process->own_ns == 0)
			continue;
		sum.cpu_ns += process->cpu_ns;
		sum.own_window_ns += process->own_window_ns;
		sum.own_ns += process->own_ns;
		sum.own_events_ns += process->own_events_ns;
		sum.own_slow_ns += process->own_slow_ns;
		sum.own_control_ns += process->own_control_ns;
		sum.own_dumps_ns += process->own_dumps_ns;
	}
	return sum;
}

static void emit_words(const struct rec_process *sum, struct emit *emit)
{
	char events[EMIT_DURATION_BYTES], slow[EMIT_DURATION_BYTES];
	char control[EMIT_DURATION_BYTES], dumps[EMIT_DURATION_BYTES];
	double percent =
		sum->cpu_ns > 0 ? 100 * (double)sum->own_window_ns / (double)sum->cpu_ns : 0;
	if (emit->is_screen) {
		emit_labelled(emit, "Recorder", "took at least about %.1f%% of the CPU time",
			      percent);
		return;
	}
	emit_format_duration(events, (double)sum->own_events_ns);
	emit_format_duration(slow, (double)sum->own_slow_ns);
	emit_format_duration(control, (double)sum->own_control_ns);
	emit_format_duration(dumps, (double)sum->own_dumps_ns);
	emit_labelled(emit, "Recorder",
		      "took at least about %.1f%% of the CPU time; since the start: "
		      "events %s, slow paths %s, its own thread %s, dumps before %s",
		      percent, events, slow, control, dumps);
}

/* The recorder's time is in the program's: answers leave out no more than that of its starts. */
void checks_own(struct check *check, const struct analysis *analysis)
{
	const struct rec_process sum = add_up(analysis->recording);
	double whole_ns = fmax(facts_recorded_ns(analysis), (double)sum.cpu_ns);
	if (sum.own_ns == 0 || !(facts_recorded_ns(analysis) > 0))
		return;
	check->state = CHECK_PASSED;
	check->value = fmin(100, checks_percent((double)sum.own_window_ns, whole_ns));
	snprintf(check->line, sizeof(check->line),
		 "recording took up to %.0f%% of the run, most of it in the figures as the "
		 "program's own: record a longer run, or less (WCPROF_MIN_IO_NS, WCPROF_HOLDS)",
		 check->value);
}

/* How much was recorded, and at what cost, where a budget chose the time. */
struct budgeted {
	uint64_t budget_ppm; /* the largest of all processes */
	uint64_t span_ns;
	uint64_t on_ns;
	double cost_percent; /* of the CPU time while recording was on */
};

static struct budgeted find_budgeted(const struct recording *recording)
{
	struct budgeted sum = { 0 };
	for (size_t i = 0; i < recording->process_count; i++) {
		const struct rec_process *process = &recording->processes[i];
		if (process->budget_ppm > sum.budget_ppm)
			sum.budget_ppm = process->budget_ppm;
		sum.span_ns += process->budget_span_ns;
		sum.on_ns += process->budget_on_ns;
		sum.cost_percent += (double)process->budget_on_ns *
				    (double)process->budget_cost_ppm / PERCENT_PPM;
	}
	if (sum.on_ns > 0)
		sum.cost_percent /= (double)sum.on_ns;
	return sum;
}

static void emit_budget(const struct budgeted *sum, struct emit *emit)
{
	char on[EMIT_DURATION_BYTES], span[EMIT_DURATION_BYTES];
	double share = sum->span_ns > 0 ? (double)sum->on_ns / (double)sum->span_ns : 0;
	emit_format_duration(on, (double)sum->on_ns);
	emit_format_duration(span, (double)sum->span_ns);
	emit_labelled(emit, "Budget",
		      "%g%%: %s of %s were recorded (%.3g%%), at about %.2g%% of the CPU time of "
		      "all of it%s",
		      (double)sum->budget_ppm / PERCENT_PPM, on, span, 100 * share,
		      share * sum->cost_percent,
		      emit->is_screen ? ""
				      : "; counts and times are of what was recorded, rates per "
					"second hold for all");
}

void owncost_emit(const struct recording *recording, struct emit *emit)
{
	const struct rec_process sum = add_up(recording);
	const struct budgeted budgeted = find_budgeted(recording);
	emit_ns(emit, "process_cpu_ns", NULL, (double)sum.cpu_ns);
	emit_ns(emit, "own_window_ns", NULL, (double)sum.own_window_ns);
	emit_ns(emit, "own_ns", NULL, (double)sum.own_ns);
	emit_ns(emit, "own_events_ns", NULL, (double)sum.own_events_ns);
	emit_ns(emit, "own_slow_ns", NULL, (double)sum.own_slow_ns);
	emit_ns(emit, "own_control_ns", NULL, (double)sum.own_control_ns);
	emit_ns(emit, "own_dumps_ns", NULL, (double)sum.own_dumps_ns);
	if (emit->format == EMIT_TEXT && sum.own_ns > 0)
		emit_words(&sum, emit);
	emit_count(emit, "budget_ppm", NULL, budgeted.budget_ppm);
	emit_ns(emit, "budget_span_ns", NULL, (double)budgeted.span_ns);
	emit_ns(emit, "budget_on_ns", NULL, (double)budgeted.on_ns);
	if (emit->format == EMIT_TEXT && budgeted.budget_ppm > 0)
		emit_budget(&budgeted, emit);
}
