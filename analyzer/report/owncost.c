/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of recording itself. See owncost.h.
 */
#include "owncost.h"

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
		emit_labelled(emit, "Recorder", "took about %.1f%% of the CPU time", percent);
		return;
	}
	emit_format_duration(events, (double)sum->own_events_ns);
	emit_format_duration(slow, (double)sum->own_slow_ns);
	emit_format_duration(control, (double)sum->own_control_ns);
	emit_format_duration(dumps, (double)sum->own_dumps_ns);
	emit_labelled(emit, "Recorder",
		      "took about %.1f%% of the CPU time; since the start: events %s, slow paths "
		      "%s, its own thread %s, dumps before %s",
		      percent, events, slow, control, dumps);
}

void owncost_emit(const struct recording *recording, struct emit *emit)
{
	const struct rec_process sum = add_up(recording);
	emit_ns(emit, "process_cpu_ns", NULL, (double)sum.cpu_ns);
	emit_ns(emit, "own_window_ns", NULL, (double)sum.own_window_ns);
	emit_ns(emit, "own_ns", NULL, (double)sum.own_ns);
	emit_ns(emit, "own_events_ns", NULL, (double)sum.own_events_ns);
	emit_ns(emit, "own_slow_ns", NULL, (double)sum.own_slow_ns);
	emit_ns(emit, "own_control_ns", NULL, (double)sum.own_control_ns);
	emit_ns(emit, "own_dumps_ns", NULL, (double)sum.own_dumps_ns);
	if (emit->format == EMIT_TEXT && sum.own_ns > 0)
		emit_words(&sum, emit);
}
