/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the whole analysis; analysis.h has the contract.
 *
 * The pipeline: graph, measures, the script or program of the replay, questions, checks, verdict,
 * warnings. The script is compiled on a second thread while this one measures the recording:
 * neither reads what the other writes.
 */
#include "analysis.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <regex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ask/pressure.h"
#include "ask/sampling_error.h"
#include "base/assumptions.h"
#include "base/memory.h"
#include "facts.h"
#include "followed.h"
#include "format.h"
#include "kinds.h"
#include "names/threadnames.h"
#include "recording/words.h"
#include "replay/follow.h"
#include "replay/recorded/recorded.h"
#include "replay/simulate.h"
#include "requestfigures.h"
#include "verdict.h"

static void __attribute__((format(printf, 3, 4)))
warn(struct analysis *analysis, size_t *room, const char *format, ...)
{
	va_list arguments;
	analysis->warnings = memory_grow(analysis->warnings, room, analysis->warning_count + 1,
					 sizeof(*analysis->warnings));
	va_start(arguments, format);
	vsnprintf(analysis->warnings[analysis->warning_count++], WARNING_BYTES, format, arguments);
	va_end(arguments);
}

/* Consequences for readers of the names. */
static void warn_of_files(struct analysis *analysis, size_t *room)
{
	const struct unnamed_files *unnamed = &analysis->labels->unnamed;
	if (unnamed->other_count)
		warn(analysis, room,
		     "%.100s%s not the recorded build: functions in it have no names; put the "
		     "recorded file or its debug file in place",
		     unnamed->other_path,
		     unnamed->other_count > 1 ? " and other files are" : " is");
	if (unnamed->missing_count)
		warn(analysis, room,
		     "%.100s%s not on this machine: functions in it have no names; --root for a "
		     "container's, or --symbolize on the machine of the recording",
		     unnamed->missing_path,
		     unnamed->missing_count > 1 ? " and other files are" : " is");
}

static const double OTHERS_WORTH_SAYING = 0.01; /* of the CPUs */

/* About the CPUs: that others used them, or that there were too few to tell what they cost. */
static void warn_of_cpus(struct analysis *analysis, size_t *room)
{
	const struct machine *machine = &analysis->machine;
	if (machine_crosses(machine, analysis->options->cpus))
		warn(analysis, room,
		     "recorded on one CPU: the cost of handing a lock to a thread on another CPU "
		     "is not in the recording; the replay takes %g us, and %g us for a signal",
		     (double)assume.crossing / 1e3, (double)assume.crossing_run / 1e3);
	if (analysis->options->cpus > 0)
		return;
	double others = analysis->script.others.cpus, all = machine->recorded_cpus;
	if (others >= OTHERS_WORTH_SAYING * all)
		warn(analysis, room,
		     "other programs had used %.2f of the %.0f CPU%s: savings hold for a machine "
		     "that stays as busy",
		     others, all, all > 1 ? "s" : "");
}

/* Whoever reads the answers is to know that they are not the usual ones. */
static void warn_of_assumptions(struct analysis *analysis, size_t *room)
{
	char names[WARNING_BYTES - 100];
	assumptions_list(names, sizeof(names), true);
	if (names[0])
		warn(analysis, room, "predictions are made without these assumptions: %s", names);
}

static void analysis_warn(struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	const struct replay_answer *baseline = &analysis->whatif.baseline;
	size_t room = 0;
	warn_of_assumptions(analysis, &room);
	for (size_t i = 0; i < CHECK_COUNT; i++)
		if (analysis->checks.rows[i].line[0])
			warn(analysis, &room, "%s", analysis->checks.rows[i].line);
	if (analysis->has_script)
		warn_of_cpus(analysis, &room);
	if (analysis->labels)
		warn_of_files(analysis, &room);
	if (recording->windows_left_out)
		warn(analysis, &room, "recording was off in between: one window of it is shown");
	if (recording->truncated_files)
		warn(analysis, &room, "%zu file%s in the middle of a line: the rest is missing",
		     recording->truncated_files,
		     recording->truncated_files == 1 ? " ends" : "s end");
	if (analysis->graph.orphan_waits)
		warn(analysis, &room, "%" PRIu64 " waits belong to no known op and are left out",
		     analysis->graph.orphan_waits);
	if (baseline->broken_cycles)
		warn(analysis, &room,
		     "%" PRIu64 " waits form cycles: the replay breaks each cycle at one wait",
		     baseline->broken_cycles);
	if (baseline->fallback_anchors)
		warn(analysis, &room,
		     "%" PRIu64 " ops start at their recorded time, as no other op starts them",
		     baseline->fallback_anchors);
	if (analysis->graph.cut_parents)
		warn(analysis, &room, "links nested_client form cycles: some are ignored");
}

static int analysis_match_classes(struct analysis *analysis, char error[OPTIONS_ERROR_BYTES])
{
	const char *pattern = analysis->options->class_regex;
	regex_t regex;
	analysis->is_shown = memory_new(analysis->classes.count, sizeof(*analysis->is_shown));
	int failed = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
	if (failed) {
		char reason[100];
		regerror(failed, &regex, reason, sizeof(reason));
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--class: \"%.60s\" is no regular expression (%s); correct it", pattern,
			 reason);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < analysis->classes.count; i++)
		analysis->is_shown[i] =
			!pattern[0] ||
			regexec(&regex, facts_class_name(analysis, i), 0, NULL, 0) == 0;
	regfree(&regex);
	return 0;
}

static void analysis_span(struct analysis *analysis)
{
	const struct graph *graph = &analysis->graph;
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	analysis->span_ns = graph->end_ns - graph->start_ns;
	for (uint32_t i = 0; i < graph->root_count; i++) {
		const struct rec_op *root = &graph->recording->ops[graph->roots[i]];
		first_ns = root->start_ns < first_ns ? root->start_ns : first_ns;
		last_ns = root->end_ns > last_ns ? root->end_ns : last_ns;
	}
	analysis->actual_makespan_ns = graph->root_count ? last_ns - first_ns : 0;
}

static void *analysis_compile(void *argument)
{
	struct analysis *analysis = argument;
	const struct script_options script_options = {
		.functions = analysis->labels ? &analysis->labels->functions : NULL,
		.clients = analysis->clients_wanted,
	};
	bool has_threads = analysis->recording->thread_count > 0 && analysis->recording->extras;
	analysis->has_script = has_threads && strcmp(analysis->options->model, "threads") == 0;
	analysis->has_edges = has_threads && strcmp(analysis->options->model, "edges") == 0;
	if (analysis->has_edges)
		edges_build(&analysis->edges, analysis->recording, &analysis->classes);
	else if (analysis->has_script)
		script_build(&analysis->script, analysis->recording, &analysis->classes,
			     &script_options);
	else
		program_compile(&analysis->program, &analysis->graph, &analysis->classes);
	return NULL;
}

static void analysis_describe(struct analysis *analysis, const struct labels *labels)
{
	const struct options *options = analysis->options;
	selftime_build(&analysis->selftime, &analysis->graph, &analysis->classes);
	wait_table_build(&analysis->waits, &analysis->graph, &analysis->classes, labels->waits);
	lock_table_build(&analysis->locks, analysis->recording, labels->ops, labels->waits,
			 labels->sites);
	thread_table_build(&analysis->threads, analysis->recording);
	coverage_build(&analysis->coverage, analysis->recording, &analysis->classes,
		       &analysis->threads);
	function_table_build(&analysis->functions, analysis->recording, &analysis->classes,
			     &labels->frames);
	deadair_build(&analysis->deadair, &analysis->graph, options->dead_air_min_ns);
	chain_build(&analysis->chain, &analysis->graph, options->chain_depth);
	analysis_span(analysis);
}

enum { FUNCTIONS_TRIED = 64 };
static const double WORTH_TRYING = 0.01; /* of the makespan or of all requests: a function's time */

/* All that a thread does is done in its start routine: as a function it says no more than the
 * thread. */
static bool is_start_routine(const struct analysis *analysis, uint32_t name)
{
	const char *routine = analysis->recording->strings[name];
	size_t length = strlen(routine);
	for (uint32_t i = 0; i < analysis->classes.count; i++) {
		const char *thread = facts_class_name(analysis, i);
		if (analysis->classes.classes[i].kind == KIND_THREAD &&
		    strncmp(thread, routine, length) == 0 &&
		    (!thread[length] || thread[length] == ' '))
			return true;
	}
	return false;
}

/* An event loop, or a function that mostly waits for clients, is faster if they come sooner. */
static bool is_function_wanted(const struct analysis *analysis, const struct reach *reach,
			       const uint64_t *waited_ns, uint32_t index)
{
	const struct function *function = &analysis->script.shares.functions[index];
	const struct stack_functions *of = analysis->labels ? &analysis->labels->functions : NULL;
	if (!function->is_program && of && of->are_interpreter &&
	    of->are_interpreter[function->name])
		return false;
	if (!function->is_program && waited_ns && waited_ns[function->name] > function->total_ns)
		return false;
	if (index >= FUNCTIONS_TRIED)
		return false;
	double least_ns = WORTH_TRYING * fmin((double)analysis->script.actual_ns,
					      request_figures_total_ns(&analysis->script.requests));
	return (double)function->total_ns >= least_ns && !analysis->options->class_regex[0] &&
	       (function->is_program || (!is_start_routine(analysis, function->name) &&
					 reach_has_own(reach, analysis->classes.count + index)));
}

/* Its time is that of threads: what can be asked about is the program. */
static bool is_container(uint16_t kind)
{
	return kind == KIND_PROCESS || kind == KIND_EXEC;
}

/*
 * Questions to the replay of threads: none about containers, about waits for work to arrive and
 * functions around them, nor about a runtime's own threads. A lock's weight is all the time that it
 * was held, as a shorter hold shortens all that is done under it.
 */
static void ask_of_threads(struct analysis *analysis, const struct reach *reach,
			   uint64_t *weight_ns, bool *is_wanted)
{
	const struct class_table *classes = &analysis->classes;
	for (uint32_t i = 0; i < classes->count; i++) {
		uint16_t kind = classes->classes[i].kind;
		const struct class_times *times = &analysis->selftime.classes[i];
		weight_ns[i] = kind == KIND_HOLD ? times->total_wall_ns : times->self.total_ns;
		is_wanted[i] = analysis->is_shown[i] && !analysis->script.arrivals[i] &&
			       !is_container(kind) &&
			       !(kind == KIND_THREAD &&
				 thread_name_is_runtime(facts_class_name(analysis, i)));
	}
	uint64_t *waited_ns = NULL;
	if (analysis->labels)
		waited_ns = arrivals_under(analysis->recording, classes, analysis->script.arrivals,
					   &analysis->labels->functions);
	for (uint32_t f = 0; f < analysis->script.shares.function_count; f++) {
		weight_ns[classes->count + f] = analysis->script.shares.functions[f].total_ns;
		is_wanted[classes->count + f] = is_function_wanted(analysis, reach, waited_ns, f);
	}
	free(waited_ns);
}

static int ask_what_the_user_asks(struct analysis *analysis, struct estimator *estimator,
				  char error[OPTIONS_ERROR_BYTES])
{
	size_t functions = analysis->has_script ? analysis->script.shares.function_count : 0;
	struct subjects subjects = { .count = analysis->classes.count + functions };
	subjects.names = memory_new(subjects.count, sizeof(*subjects.names));
	subjects.kinds = memory_new(subjects.count, sizeof(*subjects.kinds));
	for (uint32_t i = 0; i < subjects.count; i++) {
		bool is_none = i < analysis->classes.count && analysis->has_script &&
			       is_container(analysis->classes.classes[i].kind);
		subjects.names[i] = is_none ? "" : facts_class_name(analysis, i);
		subjects.kinds[i] = is_none ? "" : facts_class_kind(analysis, i);
	}
	const struct asked_of of = { .estimator = estimator,
				     .script = analysis->has_script ? &analysis->script : NULL,
				     .classes = &analysis->classes,
				     .subjects = &subjects,
				     .wait_name =
					     analysis->labels ? analysis->labels->waits : NULL };
	int failed = asked_build(&analysis->asked, &of, &analysis->options->what_ifs, error);
	free(subjects.names);
	free(subjects.kinds);
	return failed;
}

/* Of the replay in recorded order: all classes that are shown. */
static void ask_of_ops(const struct analysis *analysis, uint64_t *weight_ns, bool *is_wanted)
{
	for (uint32_t i = 0; i < analysis->classes.count; i++) {
		weight_ns[i] = analysis->selftime.classes[i].self.total_ns;
		is_wanted[i] = analysis->is_shown[i];
	}
}

/*
 * A call that is made by way of a wrapper may be the work of one of its callers. A lock that nobody
 * waited for does no harm: held during all of a request, it is the request by another name. All
 * work under another lock is that lock's.
 */
static bool *find_parted(const struct analysis *analysis)
{
	const struct recording *recording = analysis->recording;
	const uint32_t *waits = analysis->labels ? analysis->labels->waits : NULL;
	const uint32_t *ops = analysis->labels ? analysis->labels->ops : NULL;
	bool *is_waited_for = memory_new(recording->string_count, sizeof(*is_waited_for));
	bool *has_parts = memory_new(analysis->classes.count, sizeof(*has_parts));
	for (size_t i = 0; i < recording->wait_count; i++)
		if (recording->waits[i].reason != REASON_COND)
			is_waited_for[waits ? waits[i] : recording->waits[i].ident] = true;
	for (uint32_t i = 0; i < analysis->classes.count; i++)
		has_parts[i] = words_is_call(analysis->classes.classes[i].kind) ||
			       analysis->classes.classes[i].kind == KIND_HOLD;
	/* a class may have a part of the lock's holds alone */
	for (size_t i = 0; i < recording->op_count; i++)
		if (recording->ops[i].kind == KIND_HOLD &&
		    is_waited_for[ops ? ops[i] : recording->ops[i].name])
			has_parts[analysis->classes.of_op[i]] = false;
	free(is_waited_for);
	return has_parts;
}

/* The table. */
static void ask_of_all(struct analysis *analysis, struct estimator *estimator)
{
	const struct options *options = analysis->options;
	size_t functions = analysis->has_script ? analysis->script.shares.function_count : 0;
	size_t count = analysis->classes.count + functions;
	uint64_t *weight_ns = memory_new(count, sizeof(*weight_ns));
	bool *is_wanted = memory_new(count, sizeof(*is_wanted));
	bool *is_asked = memory_new(count, sizeof(*is_asked));
	bool *has_parts = find_parted(analysis);
	struct reach reach = { 0 };
	for (size_t i = 0; i < analysis->asked.count; i++)
		if (analysis->asked.answers[i].class != NO_INDEX)
			is_asked[analysis->asked.answers[i].class] = true;
	if (analysis->has_script) {
		reach_build(&reach, &analysis->script);
		ask_of_threads(analysis, &reach, weight_ns, is_wanted);
	} else {
		ask_of_ops(analysis, weight_ns, is_wanted);
	}
	const struct whatif_options whatif_options = {
		.factors = options->factors.factors,
		.factor_count = options->factors.count,
		.min_self_ns = options->min_self_ns,
		.progress = options->progress,
		.hypothesis_count = count,
		.weight_ns = weight_ns,
		.is_wanted = is_wanted,
		.is_asked = is_asked,
		.reach = analysis->has_script ? &reach : NULL,
		.has_parts = has_parts,
	};
	whatif_build(&analysis->whatif, estimator, &analysis->classes, &analysis->selftime,
		     &whatif_options);
	reach_free(&reach);
	free(has_parts);
	free(weight_ns);
	free(is_wanted);
	free(is_asked);
}

/* For what draws them. */
static bool wants_curves(const struct options *options)
{
	return (options->html && options->html[0]) ||
	       (options->export && strcmp(options->export, "svg") == 0);
}

static void draw_curves(struct analysis *analysis, struct estimator *estimator)
{
	const struct options *options = analysis->options;
	const struct whatif_options whatif_options = { .factors = options->factors.factors,
						       .factor_count = options->factors.count,
						       .progress = options->progress };
	if (wants_curves(options) && !analysis->checks.is_withheld)
		curves_build(&analysis->curves, &analysis->whatif, estimator, &whatif_options);
}

static struct replayer replayer_of(const struct analysis *analysis)
{
	if (analysis->has_script)
		return simulate_replayer(&analysis->script, &analysis->machine);
	if (analysis->has_edges)
		return follow_replayer(&analysis->edges);
	return recorded_replayer(&analysis->program);
}

static int analysis_ask(struct analysis *analysis, char error[OPTIONS_ERROR_BYTES])
{
	struct estimator estimator;
	double *sampling_error = NULL;
	if (analysis->has_script) {
		machine_begin(&analysis->machine, &analysis->script, analysis->options->cpus);
		pressure_find(&analysis->script, &analysis->machine);
		sampling_error = sampling_error_build(&analysis->script, &analysis->machine);
	}
	const struct replayer replayer = replayer_of(analysis);
	estimator_begin(&estimator, &replayer, sampling_error);
	if (analysis->has_script && !(analysis->options->cpus > 0))
		request_figures_compare(&estimator, &analysis->script.requests);
	int failed = ask_what_the_user_asks(analysis, &estimator, error);
	if (!failed) {
		struct replayer single = replayer;
		ask_of_all(analysis, &estimator);
		single.spare = estimator_scratch(&estimator, 0);
		if (analysis->has_script)
			variation_build(&analysis->variation, analysis, &single);
		checks_build(&analysis->checks, analysis, &single);
		verdict_reach(&analysis->checks, analysis->has_script, analysis->options->force);
		draw_curves(analysis, &estimator);
	}
	estimator_end(&estimator);
	free(sampling_error);
	return failed;
}

int analysis_measure(struct analysis *analysis, const struct recording *recording,
		     const struct options *options, const struct labels *labels,
		     char error[OPTIONS_ERROR_BYTES])
{
	*analysis =
		(struct analysis){ .recording = recording, .options = options, .labels = labels };
	class_table_build(&analysis->classes, recording, labels ? labels->classes : NULL);
	if (facts_clients_wanted(&analysis->clients_wanted, options->clients, error) != 0 ||
	    analysis_match_classes(analysis, error) != 0) {
		analysis_free(analysis);
		return -EINVAL;
	}
	graph_build(&analysis->graph, recording);
	pthread_t compiling;
	bool is_threaded = pthread_create(&compiling, NULL, analysis_compile, analysis) == 0;
	analysis_describe(analysis, labels ? labels : &(const struct labels){ 0 });
	if (is_threaded)
		pthread_join(compiling, NULL);
	else
		analysis_compile(analysis);
	if (analysis->has_script)
		analysis->actual_makespan_ns = analysis->script.actual_ns;
	analysis->has_paths = analysis->has_script && followed_is_wanted(analysis);
	if (analysis->has_paths)
		followed_build(&analysis->paths, analysis);
	return 0;
}

int analysis_build(struct analysis *analysis, const struct recording *recording,
		   const struct options *options, const struct labels *labels,
		   char error[OPTIONS_ERROR_BYTES])
{
	if (analysis_measure(analysis, recording, options, labels, error) != 0)
		return -EINVAL;
	if (facts_clients_check(&analysis->script.clients, &analysis->clients_wanted, error) != 0 ||
	    kinds_choose(analysis, error) != 0 || analysis_ask(analysis, error) != 0) {
		analysis_free(analysis);
		return -EINVAL;
	}
	analysis_warn(analysis);
	return 0;
}

void analysis_free(struct analysis *analysis)
{
	variation_free(&analysis->variation);
	asked_free(&analysis->asked);
	curves_free(&analysis->curves);
	whatif_free(&analysis->whatif);
	request_paths_free(&analysis->paths);
	if (analysis->has_script)
		script_free(&analysis->script);
	edges_free(&analysis->edges);
	program_free(&analysis->program);
	chain_free(&analysis->chain);
	deadair_free(&analysis->deadair);
	function_table_free(&analysis->functions);
	coverage_free(&analysis->coverage);
	thread_table_free(&analysis->threads);
	lock_table_free(&analysis->locks);
	wait_table_free(&analysis->waits);
	selftime_free(&analysis->selftime);
	graph_free(&analysis->graph);
	class_table_free(&analysis->classes);
	free(analysis->is_shown);
	free(analysis->warnings);
	*analysis = (struct analysis){ 0 };
}
