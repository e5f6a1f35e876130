/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the classes that --slow-rules and --slow-progress name; slowrules.c writes their rules.
 *
 * "top:N" is the classes at the top of the report, until N of them can be slowed. Answers
 * to --what-if are there as well: a trial needs one analysis.
 */
#include "slowing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/emit.h"
#include "base/memory.h"
#include "report/facts.h"
#include "slowrules.h"

enum { SUBJECTS_MAX = 256 };

/* A subject's classes stay where they are: subjects point to them. */
struct classes_of {
	uint32_t classes[QUESTION_CHANGES_MAX];
};

struct slowing {
	const struct analysis *analysis;
	struct slow_rules rules;
	struct slow_subject subjects[SUBJECTS_MAX];
	struct classes_of classes[SUBJECTS_MAX];
	struct slow_subject progress;
	struct classes_of progress_classes;
	struct subjects names; /* of all classes and functions */
};

static const char top_word[] = "top:";

static const double NEARLY_ALL = 0.9; /* of a function's time: what is predicted of it is made */

static bool is_top(const char *text)
{
	return strncmp(text, top_word, strlen(top_word)) == 0;
}

static struct slow_subject subject_of(const struct analysis *analysis, const char *name,
				      const struct classes_of *of, size_t class_count)
{
	struct slow_subject subject = {
		.name = name ? name : facts_class_name(analysis, of->classes[0]),
		.kind = facts_class_kind(analysis, of->classes[0]),
		.classes = of->classes,
		.class_count = class_count,
	};
	if (of->classes[0] >= analysis->classes.count) {
		const struct function *function =
			&analysis->script.shares
				 .functions[of->classes[0] - analysis->classes.count];
		subject.function = function->name;
		subject.is_program = function->is_program;
		subject.has_calls =
			(double)function->sampled_ns < NEARLY_ALL * (double)function->total_ns;
	}
	for (size_t i = 0; i < class_count; i++)
		subject.self_ns += facts_class_self_ns(analysis, of->classes[i]);
	return subject;
}

static void add_subject(struct slowing *slowing, const char *name, size_t class_count)
{
	size_t at = slowing->rules.subject_count++;
	slowing->subjects[at] =
		subject_of(slowing->analysis, name, &slowing->classes[at], class_count);
}

static int refuse_number(const char *text, char error[OPTIONS_ERROR_BYTES])
{
	snprintf(error, OPTIONS_ERROR_BYTES, "--slow-rules: \"%.60s\" is no number; give top:10",
		 text);
	return -EINVAL;
}

static int add_top(struct slowing *slowing, const char *text, char error[OPTIONS_ERROR_BYTES])
{
	const struct whatif *whatif = &slowing->analysis->whatif;
	char *end;
	unsigned long wanted = strtoul(text + strlen(top_word), &end, 10);
	if (*end || wanted == 0)
		return refuse_number(text, error);
	for (size_t i = 0; i < whatif->row_count && wanted > 0; i++) {
		size_t at = slowing->rules.subject_count;
		if (at == SUBJECTS_MAX)
			break;
		slowing->classes[at].classes[0] = whatif->rows[i].class;
		add_subject(slowing, NULL, 1);
		wanted -= !slow_rules_why_not(&slowing->rules, &slowing->subjects[at]);
	}
	return 0;
}

static int add_named(struct slowing *slowing, const char *name, char error[OPTIONS_ERROR_BYTES])
{
	size_t at = slowing->rules.subject_count;
	if (at == SUBJECTS_MAX) {
		snprintf(error, OPTIONS_ERROR_BYTES, "--slow-rules: too many classes; give fewer");
		return -EINVAL;
	}
	int count = question_find(name, &slowing->names, "slow-rules", slowing->classes[at].classes,
				  error);
	if (count < 0)
		return count;
	add_subject(slowing, name, (size_t)count);
	return 0;
}

static int add_progress(struct slowing *slowing, const char *name, char error[OPTIONS_ERROR_BYTES])
{
	if (!name[0])
		return 0;
	if (slow_rules_have_call(slowing->analysis->recording, name)) {
		slowing->rules.progress_call = name;
		return 0;
	}
	int count = question_find(name, &slowing->names, "slow-progress",
				  slowing->progress_classes.classes, error);
	if (count < 0)
		return count;
	slowing->progress =
		subject_of(slowing->analysis, name, &slowing->progress_classes, (size_t)count);
	slowing->rules.progress = &slowing->progress;
	return 0;
}

static void list_names(struct slowing *slowing)
{
	const struct analysis *analysis = slowing->analysis;
	struct subjects *names = &slowing->names;
	names->count = analysis->classes.count;
	if (analysis->has_script)
		names->count += analysis->script.shares.function_count;
	names->names = memory_new(names->count, sizeof(*names->names));
	names->kinds = memory_new(names->count, sizeof(*names->kinds));
	for (uint32_t i = 0; i < names->count; i++) {
		names->names[i] = facts_class_name(analysis, i);
		names->kinds[i] = facts_class_kind(analysis, i);
	}
}

static int collect(struct slowing *slowing, const struct options *options,
		   char error[OPTIONS_ERROR_BYTES])
{
	int failed = 0;
	for (size_t i = 0; !failed && i < options->slow_rules.count; i++) {
		const char *text = options->slow_rules.texts[i];
		failed = is_top(text) ? add_top(slowing, text, error)
				      : add_named(slowing, text, error);
	}
	return failed ? failed : add_progress(slowing, options->slow_progress, error);
}

static bool wants_top(const struct options *options)
{
	for (size_t i = 0; i < options->slow_rules.count; i++)
		if (is_top(options->slow_rules.texts[i]))
			return true;
	return false;
}

static void slowing_begin(struct slowing *slowing, const struct analysis *analysis)
{
	*slowing = (struct slowing){
		.analysis = analysis,
		.rules = {
			.recording = analysis->recording,
			.classes = &analysis->classes,
			.request_class = analysis->has_script
						 ? analysis->script.requests.judged_class
						 : NO_INDEX,
		},
	};
	slowing->rules.subjects = slowing->subjects;
	slowing->rules.samples.recording = analysis->recording;
	if (analysis->labels) {
		slowing->rules.samples.functions = &analysis->labels->functions;
		slowing->rules.samples.names = &analysis->labels->frames;
	}
	list_names(slowing);
}

/* The run that takes longer is worth so many percent of the unchanged one. */
static double longer_percent(const struct analysis *analysis, double saved_ns)
{
	double baseline_ns = analysis->whatif.baseline.makespan_ns;
	return baseline_ns > 0 && saved_ns != 0 ? -100 * saved_ns / baseline_ns : 0;
}

static void put_asked(FILE *file, const struct analysis *analysis)
{
	const struct asked *asked = &analysis->asked;
	fputs(",\"asked\":[", file);
	for (size_t i = 0; !analysis->checks.is_withheld && i < asked->count; i++) {
		const struct estimate *estimate = &asked->answers[i].estimate;
		fprintf(file, "%s{\"what_if\":", i ? "," : "");
		emit_json_string(file, asked->answers[i].text);
		fprintf(file, ",\"longer_percent\":%.3f,\"least_percent\":%.3f,",
			longer_percent(analysis, estimate->saved_ns),
			longer_percent(analysis, estimate->most_ns));
		fprintf(file, "\"most_percent\":%.3f}",
			longer_percent(analysis, estimate->least_ns));
	}
	fprintf(file, "],\"drift_percent\":%.3f,\"withheld\":", facts_drift_percent(analysis));
	if (analysis->checks.is_withheld)
		emit_json_string(file, analysis->checks.rows[analysis->checks.gravest].line);
	else
		fputs("null", file);
}

int slowing_write(FILE *file, const struct recording *recording, const struct options *options,
		  const struct labels *labels, char error[OPTIONS_ERROR_BYTES])
{
	struct options without_table = *options;
	struct analysis analysis;
	/* The checks of answers need the table, too. */
	if (!wants_top(options) && options->what_ifs.count == 0)
		without_table.min_self_ns = UINT64_MAX;
	int failed = analysis_build(&analysis, recording, &without_table, labels, error);
	if (failed)
		return failed;
	struct slowing *slowing = memory_new(1, sizeof(*slowing));
	slowing_begin(slowing, &analysis);
	failed = collect(slowing, options, error);
	if (!failed) {
		fputc('{', file);
		slow_rules_write(file, &slowing->rules);
		put_asked(file, &analysis);
		fputs("}\n", file);
	}
	free(slowing->names.names);
	free(slowing->names.kinds);
	free(slowing);
	analysis_free(&analysis);
	return failed;
}
