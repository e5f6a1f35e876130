/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints steps, one a line: number, type, what its number says, its operand by name, and where jobs
 * begin. steps.def alone says which operand and number a type has.
 *
 * The script is built here as for a replay, and is not replayed. One thread.
 */
#include "explain.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ask/question.h"
#include "base/emit.h"
#include "base/memory.h"
#include "facts.h"
#include "script/script.h"

enum { WORDS_BYTES = 256, NAME_BYTES = 64, NEAR_THREADS = 3 /* that an error names */ };

struct explained {
	FILE *file;
	const struct recording *rec;
	const struct class_table *classes;
	const struct script *script;
	const char **name_of_flow; /* its pipe or connection */
	uint32_t *source_of_job;   /* by step that a job begins with, NO_INDEX = none does */
	uint32_t *number_of_job;
};

/* Words after words, cut at the end of the buffer. */
struct words {
	char text[WORDS_BYTES];
	size_t length;
};

static void __attribute__((format(printf, 2, 3)))
words_add(struct words *words, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int added = vsnprintf(words->text + words->length, WORDS_BYTES - words->length, format,
			      arguments);
	va_end(arguments);
	words->length += added > 0 ? (size_t)added : 0;
	if (words->length >= WORDS_BYTES)
		words->length = WORDS_BYTES - 1;
}

static const char *thread_name(const struct explained *explained, uint32_t thread)
{
	return explained->rec->strings[explained->rec->threads[thread].name];
}

/* As reports call it: by the function that it runs, if that is known. */
static const char *thread_class(const struct explained *explained, uint32_t thread)
{
	uint32_t op = explained->rec->threads[thread].op;

	if (op == NO_INDEX)
		return thread_name(explained, thread);
	uint32_t class = explained->classes->of_op[op];
	return explained->rec->strings[explained->classes->classes[class].name];
}

static void add_class(struct words *words, const struct explained *explained, uint32_t class)
{
	if (class == NO_INDEX) {
		words_add(words, "no class");
		return;
	}
	const struct class *known = &explained->classes->classes[class];
	words_add(words, "%s %.*s", explained->rec->kinds.words[known->kind], NAME_BYTES,
		  explained->rec->strings[known->name]);
}

static void add_lock(struct words *words, const struct explained *explained, uint32_t lock)
{
	uint32_t class = explained->script->lock_class[lock];

	if (class != NO_INDEX)
		words_add(words, "%.*s, ", NAME_BYTES,
			  explained->rec->strings[explained->classes->classes[class].name]);
	else
		words_add(words, "a key, ");
	words_add(words, "lock %" PRIu32, lock);
}

static void add_scope(struct words *words, const struct explained *explained, uint32_t index)
{
	const struct scopes *scopes = &explained->script->scopes;
	const struct scope *scope = &scopes->scopes[index];

	add_class(words, explained, scope->leaf);
	for (uint32_t i = 0; i < scope->count; i++) {
		uint32_t lock = scopes->classes[scope->first + i];

		if (lock == scope->leaf)
			continue;
		words_add(words, " under ");
		add_class(words, explained, lock);
	}
	words_add(words, scope->place ? " (scope %" PRIu32 ", a place)" : " (scope %" PRIu32 ")",
		  index);
}

static void add_condition(struct words *words, const struct explained *explained,
			  uint32_t condition)
{
	uint32_t lock = explained->script->jobs[condition].lock;

	words_add(words, "condition %" PRIu32, condition);
	if (lock == NO_INDEX)
		return;
	words_add(words, " of ");
	add_lock(words, explained, lock);
}

static void add_thread(struct words *words, const struct explained *explained, uint32_t actor)
{
	words_add(words, "thread %" PRIu32 ", %.*s", actor, NAME_BYTES,
		  thread_class(explained, actor));
}

static void add_link(struct words *words, const struct explained *explained, uint32_t link)
{
	uint32_t condition = explained->script->monitors.signals[link].condition;
	uint32_t thread = explained->rec->links[link].thread;

	words_add(words, "signal %" PRIu32, link);
	if (thread != NO_INDEX) {
		words_add(words, " of ");
		add_thread(words, explained, thread);
	}
	if (condition != NO_INDEX) {
		words_add(words, ", to ");
		add_condition(words, explained, condition);
	}
}

static void add_transfer(struct words *words, const struct explained *explained, uint32_t index)
{
	const struct transfer *transfer = &explained->script->flows.transfers[index];

	words_add(words, "%" PRIu64 " bytes, %.*s", transfer->bytes, NAME_BYTES,
		  explained->name_of_flow[transfer->flow]);
}

static void add_stamp(struct words *words, const struct explained *explained, uint32_t stamp)
{
	words_add(words, "%s of request %" PRIu32 ", ", stamp % 2 ? "end" : "begin", stamp / 2);
	add_class(words, explained, explained->script->requests.requests[stamp / 2].class);
}

static void add_wait(struct words *words, const struct explained *explained, uint32_t wait)
{
	if (wait != NO_INDEX)
		words_add(words, "%.*s", NAME_BYTES,
			  explained->rec->strings[explained->rec->waits[wait].name]);
}

static void add_operand(struct words *words, const struct explained *explained,
			const struct step *step)
{
	const struct looks *looks = &explained->script->looks;
	switch (script_contract((enum step_type)step->type)->operand) {
	case OPERAND_NOTHING:
	case OPERAND_ROUND:
	case OPERAND_PIECE:
	case OPERAND_VISIT: /* its read comes next */
	case OPERAND_TIMED: /* its thread's own */
		break;
	case OPERAND_SCOPE:
		add_scope(words, explained, step->arg);
		break;
	case OPERAND_LOCK:
		add_lock(words, explained, step->arg);
		break;
	case OPERAND_CONDITION:
		add_condition(words, explained, step->arg);
		break;
	case OPERAND_LINK:
		add_link(words, explained, step->arg);
		break;
	case OPERAND_SEMAPHORE:
	case OPERAND_CIRCLE:
		words_add(words, "%s %" PRIu32, step->type < STEP_TURN ? "semaphore" : "group",
			  step->arg);
		break;
	case OPERAND_BARRIER:
		words_add(words, "barrier %" PRIu32 " of %" PRIu32 " threads", step->arg,
			  explained->script->parties[step->arg]);
		break;
	case OPERAND_READ:
	case OPERAND_WRITE:
		add_transfer(words, explained, step->arg);
		break;
	case OPERAND_ACTOR:
		add_thread(words, explained, step->arg);
		break;
	case OPERAND_WAIT:
		add_wait(words, explained, step->arg);
		break;
	case OPERAND_LOOK:
		if (looks->rows[step->arg].ender != NO_INDEX)
			add_thread(words, explained, looks->rows[step->arg].ender);
		else if (looks_lock(looks, step->arg) != NO_INDEX)
			add_lock(words, explained, looks_lock(looks, step->arg));
		break;
	case OPERAND_STAMP:
		add_stamp(words, explained, step->arg);
		break;
	}
}

static void number_format(char text[NAME_BYTES], const struct step *step, size_t index)
{
	char duration[EMIT_DURATION_BYTES];
	const char *before = "";
	bool races = script_is_race((enum step_type)step->type);
	emit_format_duration(duration, (double)step->ns);
	switch (script_contract((enum step_type)step->type)->number) {
	case NUMBER_NONE:
	case NUMBER_JOB:
		text[0] = '\0';
		return;
	case NUMBER_JUMP:
		index += step->type == STEP_AGAIN ? -step->jump : step->jump + !races;
		snprintf(text, NAME_BYTES, "to %zu", index);
		return;
	case NUMBER_LENGTH:
		break;
	case NUMBER_LATENCY:
		before = "+";
		break;
	case NUMBER_TIME:
		before = "deadline +";
		break;
	}
	snprintf(text, NAME_BYTES, "%s%s", before, duration);
}

/* The source of a job: a condition, a pipe, a semaphore. */
static void add_source(struct words *words, const struct explained *explained, uint32_t source)
{
	size_t conditions = explained->script->monitors.condition_count;
	size_t flows = explained->script->flows.flow_count;

	if (source < conditions)
		words_add(words, "condition %" PRIu32, source);
	else if (source < conditions + flows)
		words_add(words, "%.*s", NAME_BYTES, explained->name_of_flow[source - conditions]);
	else
		words_add(words, "semaphore %zu", source - conditions - flows);
}

/* A take from a pool goes on with any job; the step after it begins the one that it had. */
static void add_jobs(struct words *words, const struct explained *explained,
		     const struct step *step, size_t index)
{
	uint32_t source = script_source(explained->script, step);
	uint32_t begun = explained->source_of_job[index];
	size_t count = source == NO_INDEX ? 0 : explained->script->jobs[source].count;

	if (count)
		words_add(words, "; then the next of %zu jobs", count);
	if (begun == NO_INDEX)
		return;
	words_add(words, "%sjob %" PRIu32 " of ", words->length ? "; " : "",
		  explained->number_of_job[index]);
	add_source(words, explained, begun);
}

static void print_step(const struct explained *explained, size_t index)
{
	const struct step *step = &explained->script->steps[index];
	struct words words = { .length = 0 };
	char number[NAME_BYTES];

	add_operand(&words, explained, step);
	add_jobs(&words, explained, step, index);
	number_format(number, step, index);
	const char *word = script_contract((enum step_type)step->type)->word;
	if (words.length)
		fprintf(explained->file, "%8zu  %-8s  %11s  %s\n", index, word, number, words.text);
	else if (number[0])
		fprintf(explained->file, "%8zu  %-8s  %11s\n", index, word, number);
	else
		fprintf(explained->file, "%8zu  %s\n", index, word);
}

/* --- threads --- */

static size_t end_of(const struct script *script, uint32_t actor)
{
	size_t step = script->actors[actor].first_step;

	while (script->steps[step].type != STEP_END)
		step++;
	return step;
}

static void print_thread(const struct explained *explained, uint32_t index)
{
	const struct actor *actor = &explained->script->actors[index];
	size_t end = end_of(explained->script, index);
	char start[EMIT_DURATION_BYTES], finish[EMIT_DURATION_BYTES];

	emit_format_duration(start, (double)actor->start_ns);
	emit_format_duration(finish, (double)actor->finish_ns);
	fprintf(explained->file,
		"thread %" PRIu32 ", %s: %s, tid %" PRIu32
		", %zu steps, %s at %s, finishes at %s%s\n",
		index, thread_class(explained, index), thread_name(explained, index),
		explained->rec->threads[index].tid, end + 1 - actor->first_step,
		actor->is_spawned ? "started" : "begins by itself", start, finish,
		actor->counts  ? ", part of the makespan"
		: actor->ticks ? ", goes on as long as it is left alone"
			       : "");
}

static void print_steps(const struct explained *explained, uint32_t thread)
{
	size_t end = end_of(explained->script, thread);

	print_thread(explained, thread);
	for (size_t i = explained->script->actors[thread].first_step; i <= end; i++)
		print_step(explained, i);
}

static bool is_number(const char *text, uint32_t number)
{
	char *end;

	return strtoul(text, &end, 10) == number && end != text && !*end;
}

enum thread_match { BY_NAME, BY_TID, BY_INDEX, MATCHES };

static bool is_meant(const struct explained *explained, uint32_t thread, const char *text,
		     enum thread_match by)
{
	if (by == BY_NAME)
		return strcmp(text, thread_class(explained, thread)) == 0 ||
		       strcmp(text, thread_name(explained, thread)) == 0;
	return is_number(text, by == BY_TID ? explained->rec->threads[thread].tid : thread);
}

/* Threads of the same name are all meant. */
static bool print_meant(const struct explained *explained, const char *text)
{
	bool any = false;

	for (int by = 0; by < MATCHES && !any; by++)
		for (uint32_t t = 0; t < explained->rec->thread_count; t++)
			if (is_meant(explained, t, text, (enum thread_match)by)) {
				print_steps(explained, t);
				any = true;
			}
	return any;
}

static bool is_near(const char *name, const char *text)
{
	size_t most = strlen(text) / 3 + 1;

	return name[0] && (strcasestr(name, text) || question_distance(name, text, most) <= most);
}

/* Names each near name once, up to a few. */
struct near_names {
	const char *names[NEAR_THREADS];
	size_t count;
	struct words words;
};

static void near_add(struct near_names *near, const char *name, const char *text)
{
	for (size_t i = 0; i < near->count; i++)
		if (strcmp(name, near->names[i]) == 0)
			return;
	if (near->count == NEAR_THREADS || !is_near(name, text))
		return;
	words_add(&near->words, "%s\"%.30s\"", near->count ? ", " : "; nearly so are called ",
		  name);
	near->names[near->count++] = name;
}

static int refuse(const struct explained *explained, const char *text,
		  char error[OPTIONS_ERROR_BYTES])
{
	struct near_names near = { .count = 0 };

	for (uint32_t t = 0; t < explained->rec->thread_count; t++) {
		near_add(&near, thread_class(explained, t), text);
		near_add(&near, thread_name(explained, t), text);
	}
	snprintf(
		error, OPTIONS_ERROR_BYTES,
		"--explain: no thread has the name, tid or number \"%.40s\"; --explain alone lists "
		"them%.120s",
		text, near.words.text);
	return -EINVAL;
}

/* --- all of it --- */

static void jobs_find(struct explained *explained)
{
	const struct script *script = explained->script;

	explained->source_of_job =
		memory_new(script->step_count, sizeof(*explained->source_of_job));
	explained->number_of_job =
		memory_new(script->step_count, sizeof(*explained->number_of_job));
	for (size_t i = 0; i < script->step_count; i++)
		explained->source_of_job[i] = NO_INDEX;
	for (uint32_t source = 0; source < script->source_count; source++)
		for (size_t i = 0; i < script->jobs[source].count; i++) {
			uint32_t step = script->jobs[source].steps[i];

			explained->source_of_job[step] = source;
			explained->number_of_job[step] = (uint32_t)i;
		}
}

static void flow_name(struct explained *explained, uint32_t transfer, uint32_t ident)
{
	if (transfer != NO_INDEX)
		explained->name_of_flow[explained->script->flows.transfers[transfer].flow] =
			explained->rec->strings[ident];
}

static void flows_name(struct explained *explained)
{
	const struct flows *flows = &explained->script->flows;
	const struct recording *rec = explained->rec;

	explained->name_of_flow = memory_new(flows->flow_count, sizeof(*explained->name_of_flow));
	for (size_t i = 0; i < flows->flow_count; i++)
		explained->name_of_flow[i] = "no name";
	for (size_t i = 0; i < rec->op_count; i++) {
		flow_name(explained, flows->transfer_of[i], rec->ops[i].ident);
		flow_name(explained, flows->other_of[i], rec->extras[i].other_ident);
	}
}

static int explain(struct explained *explained, const char *text, char error[OPTIONS_ERROR_BYTES])
{
	int failed = 0;
	jobs_find(explained);
	flows_name(explained);
	for (uint32_t t = 0; t < explained->rec->thread_count && !text[0]; t++)
		print_thread(explained, t);
	if (text[0] && !print_meant(explained, text))
		failed = refuse(explained, text, error);
	free(explained->source_of_job);
	free(explained->number_of_job);
	free(explained->name_of_flow);
	return failed;
}

int explain_write(FILE *file, const struct recording *recording, const struct options *options,
		  const struct labels *labels, char error[OPTIONS_ERROR_BYTES])
{
	struct script_options script_options = { .functions = labels ? &labels->functions : NULL };
	struct class_table classes;
	struct script script;

	assert(options->explain);
	if (strcmp(options->model, "threads") != 0) {
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--explain: the model \"%.20s\" has no steps; leave out --model",
			 options->model);
		return -EINVAL;
	}
	if (!recording->thread_count || !recording->extras) {
		snprintf(error, OPTIONS_ERROR_BYTES,
			 "--explain: the dump names no threads, and is replayed without steps; "
			 "give one that wcprof has recorded");
		return -EINVAL;
	}
	if (facts_clients_wanted(&script_options.clients, options->clients, error) != 0)
		return -EINVAL;
	class_table_build(&classes, recording, labels ? labels->classes : NULL);
	script_build(&script, recording, &classes, &script_options);
	struct explained explained = {
		.file = file, .rec = script.recording, .classes = &classes, .script = &script
	};
	bool failed = facts_clients_check(&script.clients, &script_options.clients, error) != 0 ||
		      explain(&explained, options->explain, error) != 0;
	script_free(&script);
	class_table_free(&classes);
	return failed ? -EINVAL : 0;
}
