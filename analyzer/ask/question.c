/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses questions; question.h has the grammar.
 *
 * A change is over at the first comma before which it is complete, since names of C++ functions
 * have commas too. A name is looked for as it is, then without the call after its last "/", which
 * takes all calls of that caller. One thread.
 */
#include "question.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAME_BYTES = 512,
	NEAR_NAMES = 3,
	SPLIT_MAX = 1024,
	THREADS_TIMES_MAX = 64,
	CLIENTS_TIMES_MAX = 64,
	CPUS_MAX = 4096
};

static const double FACTOR_MAX = 1000;
static const double CLIENTS_OFF_MAX = 0.01; /* 0.33 is a third */
static const char SPLIT_WORD[] = " split ";

/* One change, cut out of the text: `subject` and the number after it. */
struct change_text {
	enum {
		CHANGE_SCALE,
		CHANGE_SPLIT,
		CHANGE_THREADS,
		CHANGE_QUEUE,
		CHANGE_CPUS,
		CHANGE_LOAD,
		CHANGE_CLIENTS
	} what;
	char subject[NAME_BYTES];
	const char *from; /* the same, in the text */
	double number;
};

struct parser {
	struct question *question;
	const struct subjects *subjects;
	const char *option; /* that errors speak of */
	char *error;
};

static int refuse(struct parser *parser, const char *what, const char *text, const char *advice)
{
	snprintf(parser->error, OPTIONS_ERROR_BYTES, "--%.13s: %.40s \"%.50s\"; %.140s",
		 parser->option, what, text, advice);
	return -EINVAL;
}

/* --- cutting a change out of the text --- */

/* The number that [from, end) is; false: it is none. */
static bool number_is(const char *from, const char *end, double *number)
{
	char *stop;

	if (from == end || !strchr("0123456789.", *from))
		return false;
	*number = strtod(from, &stop);
	return stop == end;
}

static bool begins_with(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

static void subject_set(struct change_text *change, const char *from, const char *end)
{
	while (from < end && *from == ' ')
		from++;
	while (from < end && end[-1] == ' ')
		end--;
	change->from = from;
	snprintf(change->subject, sizeof(change->subject), "%.*s", (int)(end - from), from);
}

/* Whether [from, end) is a whole change. */
static bool change_is(struct change_text *change, const char *from, const char *end)
{
	const char *star = memrchr(from, '*', (size_t)(end - from));
	size_t split_bytes = strlen(SPLIT_WORD);

	if (begins_with(from, "cpus ") && number_is(from + 5, end, &change->number)) {
		change->what = CHANGE_CPUS;
		subject_set(change, from, from + 4);
		return true;
	}
	if (begins_with(from, "lock:")) {
		for (const char *at = end; at-- > from + 5;) {
			if (!begins_with(at, SPLIT_WORD) ||
			    !number_is(at + split_bytes, end, &change->number))
				continue;
			change->what = CHANGE_SPLIT;
			subject_set(change, from + 5, at);
			return true;
		}
	}
	if (!star || !number_is(star + 1, end, &change->number))
		return false;
	change->what = CHANGE_SCALE;
	if (begins_with(from, "threads:")) {
		change->what = CHANGE_THREADS;
		from += 8;
	} else if (begins_with(from, "queue:")) {
		change->what = CHANGE_QUEUE;
		from += 6;
	}
	subject_set(change, from, star);
	if (change->what == CHANGE_SCALE && strcmp(change->subject, "load") == 0)
		change->what = CHANGE_LOAD;
	if (change->what == CHANGE_SCALE && strcmp(change->subject, "clients") == 0)
		change->what = CHANGE_CLIENTS;
	return true;
}

/* Cuts the next change out; returns where it ends, NULL when there is no whole one. */
static const char *change_cut(struct change_text *change, const char *text)
{
	for (const char *end = text;; end++) {
		end = strchrnul(end, ',');
		const char *last = end;
		while (last > text && last[-1] == ' ')
			last--;
		if (change_is(change, text, last))
			return end;
		if (!*end)
			return NULL;
	}
}

/* --- finding what it is about --- */

static bool name_is(const char *name, size_t length, const char *wanted)
{
	return strlen(wanted) == length && memcmp(name, wanted, length) == 0;
}

/* `wanted` may have the kind before the name; `kind` is one that it must be, NULL = any. */
static bool matches(const struct subjects *subjects, size_t i, const char *kind, const char *wanted,
		    bool is_caller)
{
	const char *name = subjects->names[i], *slash = is_caller ? strrchr(name, '/') : NULL;
	size_t length = slash ? (size_t)(slash - name) : strlen(name);
	size_t kind_length = strlen(subjects->kinds[i]);

	if (kind && strcmp(kind, subjects->kinds[i]) != 0)
		return false;
	if (name_is(name, length, wanted))
		return true;
	return strncmp(wanted, subjects->kinds[i], kind_length) == 0 &&
	       wanted[kind_length] == ' ' && name_is(name, length, wanted + kind_length + 1);
}

size_t question_distance(const char *a, const char *b, size_t most)
{
	size_t a_length = strnlen(a, NAME_BYTES), b_length = strnlen(b, NAME_BYTES);
	size_t row[NAME_BYTES + 1];

	if (a_length > b_length + most || b_length > a_length + most)
		return most + 1;
	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t changed = diagonal + (a[i - 1] != b[j - 1]);
			size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

			diagonal = row[j];
			row[j] = changed < least ? changed : least;
		}
	}
	return row[b_length];
}

/* How unlike the name is what was wanted; more than `most` = too much to be meant. */
static size_t unlikeness(const struct subjects *subjects, size_t i, const char *wanted, size_t most)
{
	size_t kind_length = strlen(subjects->kinds[i]);
	bool has_kind =
		strncmp(wanted, subjects->kinds[i], kind_length) == 0 && wanted[kind_length] == ' ';
	const char *word = has_kind ? wanted + kind_length + 1 : wanted;

	char caller[NAME_BYTES];

	if (*word && strcasestr(subjects->names[i], word))
		return 0;
	snprintf(caller, sizeof(caller), "%s", subjects->names[i]);
	char *slash = strrchr(caller, '/');
	size_t far = question_distance(caller, word, most);
	if (slash)
		*slash = '\0';
	size_t caller_far = slash ? question_distance(caller, word, most) : far;
	return caller_far < far ? caller_far : far;
}

static int nothing_found(struct parser *parser, const char *kind, const char *wanted)
{
	const struct subjects *subjects = parser->subjects;
	size_t most = strlen(wanted) / 3 + 1, near[NEAR_NAMES], unlike[NEAR_NAMES], count = 0;
	char advice[OPTIONS_ERROR_BYTES] = "the report lists all classes";

	for (size_t i = 0; i < subjects->count; i++) {
		size_t far = kind && strcmp(kind, subjects->kinds[i]) != 0
				     ? most + 1
				     : unlikeness(subjects, i, wanted, most);
		size_t at = count;
		if (far > most)
			continue;
		count += count < NEAR_NAMES;
		for (; at > 0 && far < unlike[at - 1]; at--)
			if (at < NEAR_NAMES)
				near[at] = near[at - 1], unlike[at] = unlike[at - 1];
		if (at < NEAR_NAMES)
			near[at] = i, unlike[at] = far;
	}
	for (size_t i = 0, used = 0; i < count && used < sizeof(advice); i++)
		used += (size_t)snprintf(advice + used, sizeof(advice) - used, "%s\"%s %.30s\"",
					 i ? ", " : "similar names are ", subjects->kinds[near[i]],
					 subjects->names[near[i]]);
	return refuse(parser, "there is no class", wanted, advice);
}

static int several_found(struct parser *parser, const char *wanted, size_t first, size_t second)
{
	const struct subjects *subjects = parser->subjects;
	char advice[OPTIONS_ERROR_BYTES];

	snprintf(advice, sizeof(advice), "give \"%s %.30s\" or \"%s %.30s\"",
		 subjects->kinds[first], subjects->names[first], subjects->kinds[second],
		 subjects->names[second]);
	return refuse(parser, "several classes match", wanted, advice);
}

/* Those that are meant, all of one kind. How many, or -EINVAL. */
static int find(struct parser *parser, const char *kind, const char *wanted,
		uint32_t found[QUESTION_CHANGES_MAX])
{
	const struct subjects *subjects = parser->subjects;
	int count = 0;

	for (int is_caller = 0; is_caller < 2 && !count; is_caller++) {
		for (uint32_t i = 0; i < subjects->count && count < QUESTION_CHANGES_MAX; i++) {
			if (!matches(subjects, i, kind, wanted, is_caller))
				continue;
			if (count && strcmp(subjects->kinds[found[0]], subjects->kinds[i]) != 0)
				return several_found(parser, wanted, found[0], i);
			found[count++] = i;
		}
	}
	return count ? count : nothing_found(parser, kind, wanted);
}

/* --- taking a change in --- */

/* Each client becomes so many, or so many become one. */
static bool is_clients_factor(double times)
{
	double whole = round(times < 1 && times > 0 ? 1 / times : times);

	return whole >= 1 && whole <= CLIENTS_TIMES_MAX &&
	       fabs(times - (times < 1 ? 1 / whole : whole)) < CLIENTS_OFF_MAX;
}

static int number_check(struct parser *parser, const struct change_text *change)
{
	double number = change->number;
	bool is_whole = number == (double)(uint32_t)number;

	if (change->what == CHANGE_SCALE && number > FACTOR_MAX)
		return refuse(parser, "too large a factor for", change->subject,
			      "give one from 0 to 1000");
	if (change->what == CHANGE_SPLIT && (!is_whole || number < 2 || number > SPLIT_MAX))
		return refuse(parser, "a wrong number of parts for", change->subject,
			      "give one from 2 to 1024");
	if (change->what == CHANGE_THREADS && (number <= 0 || number > THREADS_TIMES_MAX))
		return refuse(parser, "a wrong factor for", change->subject,
			      "give one above 0, up to 64");
	if (change->what == CHANGE_QUEUE && (number <= 0 || number > FACTOR_MAX))
		return refuse(parser, "a wrong factor for", change->subject,
			      "give one above 0, up to 1000");
	if (change->what == CHANGE_LOAD && (number <= 0 || number > FACTOR_MAX))
		return refuse(parser, "a wrong factor for", change->subject,
			      "give one above 0, up to 1000");
	if (change->what == CHANGE_CLIENTS && !is_clients_factor(number))
		return refuse(parser, "a wrong factor for", change->subject,
			      "give a whole number up to 64, or one divided by one: 2, 0.5, 0.25");
	if (change->what == CHANGE_CPUS && (number <= 0 || number > CPUS_MAX))
		return refuse(parser, "a wrong number of", change->subject,
			      "give one above 0, up to 4096");
	return 0;
}

static int rebuild_add(struct parser *parser, struct rebuild *rebuilds, size_t *count,
		       const struct change_text *change, const char *kind)
{
	uint32_t found[QUESTION_CHANGES_MAX];
	int found_count = find(parser, kind, change->subject, found);

	assert(*count <= QUESTION_CHANGES_MAX);
	if (found_count < 0)
		return found_count;
	if (*count == QUESTION_CHANGES_MAX)
		return refuse(parser, "too many changes at", change->subject, "give up to 64");
	rebuilds[(*count)++] = (struct rebuild){ found[0], change->number };
	return 0;
}

static int resize_add(struct parser *parser, const struct change_text *change)
{
	struct question *question = parser->question;

	if (question->queue_count == QUESTION_CHANGES_MAX)
		return refuse(parser, "too many changes at", change->subject, "give up to 64");
	question->queues[question->queue_count++] =
		(struct resize){ change->from, strlen(change->subject), change->number };
	return 0;
}

static int scaling_add(struct parser *parser, const struct change_text *change)
{
	struct question *question = parser->question;
	uint32_t found[QUESTION_CHANGES_MAX];
	int count = find(parser, NULL, change->subject, found);

	for (int i = 0; i < count; i++) {
		if (question->scaling_count == QUESTION_CHANGES_MAX)
			return refuse(parser, "too many changes at", change->subject,
				      "give up to 64");
		question->scalings[question->scaling_count++] =
			(struct scaling){ found[i], change->number };
	}
	return count < 0 ? count : 0;
}

static int change_add(struct parser *parser, const struct change_text *change)
{
	struct question *question = parser->question;
	int failed = number_check(parser, change);

	if (failed)
		return failed;
	switch (change->what) {
	case CHANGE_SCALE:
		return scaling_add(parser, change);
	case CHANGE_SPLIT:
		return rebuild_add(parser, question->splits, &question->split_count, change,
				   "hold");
	case CHANGE_THREADS:
		return rebuild_add(parser, question->pools, &question->pool_count, change,
				   "thread");
	case CHANGE_QUEUE:
		return resize_add(parser, change);
	case CHANGE_CPUS:
		question->cpus = change->number;
		return 0;
	case CHANGE_LOAD:
		question->load_times = change->number;
		return 0;
	case CHANGE_CLIENTS:
		question->clients_times = change->number;
		return 0;
	}
	return -EINVAL;
}

int question_parse(struct question *question, const char *text, const struct subjects *subjects,
		   char error[OPTIONS_ERROR_BYTES])
{
	struct parser parser = { question, subjects, "what-if", error };
	struct change_text change = { .what = CHANGE_SCALE };

	assert(subjects->count == 0 || (subjects->names && subjects->kinds));
	*question = (struct question){ .cpus = 0 };
	for (;;) {
		text += strspn(text, " ");
		const char *end = change_cut(&change, text);
		if (!end)
			return refuse(
				&parser, "not a change:", text,
				"give CLASS*0.5, lock:NAME split 4, threads:POOL*2, queue:NAME*10 "
				"cpus 4, load*1.2 or clients*2");
		int failed = change_add(&parser, &change);
		if (failed)
			return failed;
		if (!*end)
			return 0;
		text = end + 1;
	}
}

int question_find(const char *name, const struct subjects *subjects, const char *option,
		  uint32_t found[QUESTION_CHANGES_MAX], char error[OPTIONS_ERROR_BYTES])
{
	struct parser parser = { NULL, subjects, option, error };

	return find(&parser, NULL, name, found);
}

bool question_rebuilds(const struct question *question)
{
	return question->split_count || question->pool_count || question->queue_count ||
	       question->cpus > 0 || question->load_times > 0 || question->clients_times > 0;
}
