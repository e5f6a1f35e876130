/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up what several reports and checks say of an analysis; facts.h has the contract.
 */
#include "facts.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>

static double without_pauses(const struct analysis *analysis, double makespan_ns)
{
	double paused_ns =
		analysis->has_script ? (double)analysis->script.requests.asking.paused_ns : 0;
	return fmax(makespan_ns - paused_ns, 0);
}

double facts_recorded_ns(const struct analysis *analysis)
{
	return without_pauses(analysis, (double)analysis->actual_makespan_ns);
}

double facts_replayed_ns(const struct analysis *analysis)
{
	return without_pauses(analysis, analysis->whatif.baseline.makespan_ns);
}

double facts_drift_percent(const struct analysis *analysis)
{
	double recorded_ns = facts_recorded_ns(analysis);
	double replayed_ns = without_pauses(analysis, analysis->whatif.recorded.makespan_ns);
	return recorded_ns > 0 ? 100 * (replayed_ns - recorded_ns) / recorded_ns : 0;
}

double facts_unexplained_percent(const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	uint64_t total_ns = 0, unexplained_ns = analysis->waits.untargeted_ns;
	if (!analysis->has_script)
		total_ns = analysis->waits.total_ns;
	for (size_t i = 0; analysis->has_script && i < recording->wait_count; i++)
		if (!recording->waits[i].open)
			total_ns += recording->waits[i].end_ns - recording->waits[i].start_ns;
	if (analysis->has_script) {
		unexplained_ns = analysis->script.unresolved_ns;
		total_ns += analysis->script.unresolved_calls_ns;
	}
	/* Where all of them follow each other they are this much of the run, and no more. */
	double most_ns = fmax((double)total_ns, facts_recorded_ns(analysis));
	return most_ns > 0 ? 100.0 * (double)unexplained_ns / most_ns : 0;
}

/* A hypothesis beyond the classes: a function or program; NULL for a class. */
static const struct function *function_of(const struct analysis *analysis, uint32_t class)
{
	if (class < analysis->classes.count)
		return NULL;
	assert(class - analysis->classes.count < analysis->script.shares.function_count);
	return &analysis->script.shares.functions[class - analysis->classes.count];
}

const char *facts_class_name(const struct analysis *analysis, uint32_t class)
{
	const struct function *function = function_of(analysis, class);
	uint32_t name = function ? function->name : analysis->classes.classes[class].name;
	return analysis->recording->strings[name];
}

uint32_t facts_thread_class(const struct analysis *analysis, uint32_t thread)
{
	uint32_t op = analysis->recording->threads[thread].op;
	return op == NO_INDEX ? NO_INDEX : analysis->classes.of_op[op];
}

const char *facts_thread_name(const struct analysis *analysis, uint32_t thread)
{
	const struct recording *recording = analysis->recording;
	assert(thread < recording->thread_count + analysis->script.clients.count);
	if (thread >= recording->thread_count)
		return "a client";
	uint32_t class = facts_thread_class(analysis, thread);
	return class == NO_INDEX ? "?" : facts_class_name(analysis, class);
}

const char *facts_class_kind(const struct analysis *analysis, uint32_t class)
{
	const struct function *function = function_of(analysis, class);
	if (function)
		return function->is_program ? "program" : "func";
	return analysis->recording->kinds.words[analysis->classes.classes[class].kind];
}

uint64_t facts_class_self_ns(const struct analysis *analysis, uint32_t class)
{
	const struct function *function = function_of(analysis, class);
	return function ? function->total_ns : analysis->selftime.classes[class].self.total_ns;
}

uint32_t facts_class_op_count(const struct analysis *analysis, uint32_t class)
{
	return function_of(analysis, class) ? 0 : analysis->classes.classes[class].op_count;
}

int facts_clients_wanted(struct clients_wanted *wanted, const char *word,
			 char error[OPTIONS_ERROR_BYTES])
{
	if (clients_parse(word, wanted))
		return 0;
	snprintf(error, OPTIONS_ERROR_BYTES,
		 "--clients: \"%.60s\" is none of recorded, closed, open; give one of them, or a "
		 "number of closed ones",
		 word);
	return -EINVAL;
}

int facts_clients_check(const struct clients *clients, const struct clients_wanted *wanted,
			char error[OPTIONS_ERROR_BYTES])
{
	if (!wanted->count || wanted->count == clients->asker_count)
		return 0;
	snprintf(error, OPTIONS_ERROR_BYTES,
		 wanted->count < clients->asker_count
			 ? "--clients: there were at least %zu of them at once, which are not "
			   "recorded; ask --what-if 'clients*0.5' for fewer"
			 : "--clients: %zu of them, not recorded, is the most that the connections "
			   "can be of; ask --what-if 'clients*2' for more",
		 clients->asker_count);
	return -EINVAL;
}

const char *facts_request_source(enum request_source source)
{
	static const char *const words[] = {
		[REQUEST_MARKED] = "marked", [REQUEST_TRACED] = "traced", [REQUEST_ASKED] = "asked",
		[REQUEST_SERVED] = "served", [REQUEST_JOB] = "job",       [REQUEST_LOCK] = "lock",
		[REQUEST_PROBED] = "probed",
	};
	return words[source];
}

const char *facts_frame_package(const struct analysis *analysis, uint32_t frame)
{
	const struct recording *recording = analysis->recording;
	struct package package =
		packages_of(&analysis->labels->packages, recording->frames[frame].module);
	return package.name ? recording->strings[package.name] : package_word(package.sort);
}

/* "parse/read" is named after parse. */
const char *facts_class_package(const struct analysis *analysis, uint32_t class)
{
	const struct recording *recording = analysis->recording;
	const struct frame_names *names = analysis->labels ? &analysis->labels->frames : NULL;
	const char *name = facts_class_name(analysis, class);
	size_t length = strcspn(name, "/");
	for (uint32_t frame = 0; names && names->first && frame < recording->frame_count; frame++)
		for (uint32_t i = names->first[frame]; i < names->first[frame + 1]; i++) {
			const char *function = recording->strings[names->names[i]];
			if (strncmp(function, name, length) == 0 && function[length] == '\0')
				return facts_frame_package(analysis, frame);
		}
	return "";
}
