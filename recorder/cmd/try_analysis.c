/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs wcprof-analyze with a pipe for its answer, one JSON object.
 *
 * Its errors go where ours do. An interrupt of the terminal ends the measuring only: the analyses
 * after it are what there is to print. One thread.
 */
#include "try_analysis.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

enum {
	PATH_BYTES = 4096,
	READ_BYTES = 65536,
	MEANWHILE_MS = 200,
	ARGUMENTS_MAX = 2 * 2 * TRY_ROWS_MAX + 16
};

struct arguments {
	char *words[ARGUMENTS_MAX];
	size_t count;
};

static void add(struct arguments *arguments, const char *word)
{
	if (arguments->count + 1 < ARGUMENTS_MAX)
		arguments->words[arguments->count++] = (char *)word;
	arguments->words[arguments->count] = NULL;
}

/* --- The program ------------------------------------------------------------------------------ */

/* Beside this one, else wherever PATH has it. */
void try_analysis_program(char *path, size_t size)
{
	char self[PATH_BYTES / 2];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[length > 0 ? length : 0] = '\0';
	if (strrchr(self, '/')) {
		*strrchr(self, '/') = '\0';
		snprintf(path, size, "%s/wcprof-analyze", self);
		if (access(path, X_OK) == 0)
			return;
	}
	snprintf(path, size, "wcprof-analyze");
}

static pid_t start(char *const *words, bool complains, int *answers)
{
	char path[PATH_BYTES];
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	try_analysis_program(path, sizeof(path));
	pid = fork();
	if (pid == 0) {
		signal(SIGINT, SIG_IGN);
		dup2(ends[1], STDOUT_FILENO);
		if (!complains)
			dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
		execvp(path, words);
		fprintf(stderr, "wcprof: %s: %s\n", path, strerror(errno));
		_exit(CMD_NOT_FOUND);
	}
	close(ends[1]);
	*answers = ends[0];
	if (pid < 0)
		close(ends[0]);
	return pid;
}

/* All that comes, with a NUL; the caller frees it. NULL: no memory. */
static char *read_all(int fd, try_meanwhile *meanwhile, void *context)
{
	size_t used = 0, room = READ_BYTES;
	char *text = malloc(room);

	while (text) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		ssize_t got;

		if (poll(&wait, 1, MEANWHILE_MS) <= 0) {
			if (meanwhile)
				meanwhile(context);
			continue;
		}
		got = read(fd, text + used, room - used - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += (size_t)got;
		if (used + 1 == room) {
			char *grown = realloc(text, room *= 2);

			if (!grown)
				free(text);
			text = grown;
		}
	}
	if (text)
		text[used] = '\0';
	return text;
}

char *try_analysis_output(char *const *words, bool complains, try_meanwhile *meanwhile,
			  void *context, int *exit_status)
{
	int answers, status = 0;
	pid_t pid = start(words, complains, &answers);
	char *text;

	if (pid < 0) {
		cmd_fail("wcprof-analyze: %s", strerror(errno));
		return NULL;
	}
	text = read_all(answers, meanwhile, context);
	close(answers);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (complains && !WIFEXITED(status))
		cmd_fail("wcprof-analyze was ended by signal %d", WTERMSIG(status));
	*exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : CMD_FAILED;
	return text;
}

/* An object, which the caller frees. NULL: it failed, which is complained of if wanted. */
static char *run(const struct arguments *arguments, bool complains, try_meanwhile *meanwhile,
		 void *context)
{
	int status = CMD_FAILED;
	char *text = try_analysis_output(arguments->words, complains, meanwhile, context, &status);

	if (status == CMD_DONE && text && text[0] == '{')
		return text;
	if (complains)
		cmd_fail("the first recording could not be used, as wcprof-analyze says");
	free(text);
	return NULL;
}

/* --- Its answer ------------------------------------------------------------------------------- */

static char *copy_string(const char *object, const char *key)
{
	size_t size = strlen(object) + 1;
	char *text = malloc(size);

	if (!text || !client_string(object, key, text, size)) {
		free(text);
		return strdup("");
	}
	return text;
}

static void take_keys(const char *object, struct try_rule *rule)
{
	const char *at = client_array(object, "keys");
	size_t most = 0, length;

	for (const char *comma = at; comma && *comma && *comma != ']'; comma++)
		most += *comma == ',' || *comma == '[';
	rule->keys = calloc(most + 1, sizeof(*rule->keys));
	rule->key_count = 0;
	while (rule->keys && at && rule->key_count < most && at[0] != ']' && at[1] == '"') {
		length = strspn(at + 2, "0123456789abcdef:");
		if (length == 0 || length >= TRY_KEY_BYTES || at[2 + length] != '"')
			break;
		memcpy(rule->keys[rule->key_count++], at + 2, length);
		at += length + 3;
	}
}

static void take_rules(const char *object, struct try_row *row)
{
	const char *array = client_array(object, "rules"), *at = array ? array + 1 : "";

	for (char *rule; row->rule_count < TRY_RULES_MAX && (rule = client_next(&at)); free(rule)) {
		struct try_rule *taken = &row->rules[row->rule_count++];

		(void)client_string(rule, "word", taken->word, sizeof(taken->word));
		take_keys(rule, taken);
	}
}

static void take_row(const char *object, struct try_row *row)
{
	(void)client_string(object, "kind", row->kind, sizeof(row->kind));
	(void)client_string(object, "why_not", row->why_not, sizeof(row->why_not));
	(void)client_real(object, "covered_percent", &row->covered_percent);
	(void)client_real(object, "purity_percent", &row->purity_percent);
	take_rules(object, row);
}

/* Its name alone could mean several. */
static void add_top_row(struct try_plan *plan, const char *object)
{
	struct try_row *row = &plan->rows[plan->row_count++];

	row->factor = plan->factor;
	row->name = copy_string(object, "class");
	take_row(object, row);
	if (asprintf(&row->query, "%s %s", row->kind, row->name) < 0)
		row->query = NULL;
	if (asprintf(&row->what_if, "%s*%g", row->query, row->factor) < 0)
		row->what_if = NULL;
}

static void take_rows(struct try_plan *plan, const char *text)
{
	const char *array = client_array(text, "slow_rules"), *at = array ? array + 1 : "";
	size_t taken = 0;

	for (char *object; (object = client_next(&at)); free(object)) {
		if (taken < plan->row_count)
			take_row(object, &plan->rows[taken]);
		else if (plan->row_count < TRY_ROWS_MAX)
			add_top_row(plan, object);
		taken++;
	}
}

static void take_progress(struct try_plan *plan, const char *text)
{
	const char *array = client_array(text, "progress"), *at = array ? array + 1 : "";

	for (char *object; plan->progress_count < TRY_PROGRESS_MAX && (object = client_next(&at));
	     free(object)) {
		struct try_progress *progress = &plan->progress[plan->progress_count++];

		progress->name = copy_string(object, "class");
		(void)client_string(object, "kind", progress->kind, sizeof(progress->kind));
		(void)client_string(object, "source", progress->source, sizeof(progress->source));
		(void)client_number(object, "ops", &progress->ops);
		snprintf(progress->rule.word, sizeof(progress->rule.word), "progress");
		take_keys(object, &progress->rule);
	}
}

/* Answers come in the order of the questions: of the rows that can be slowed. */
static void take_predictions(struct try_plan *plan, const char *text, size_t first, size_t end)
{
	const char *array = client_array(text, "asked"), *at = array ? array + 1 : "";
	char withheld[TRY_REASON_BYTES] = "";
	double drift = 0;

	(void)client_real(text, "drift_percent", &drift);
	(void)client_string(text, "withheld", withheld, sizeof(withheld));
	for (size_t i = first; i < end; i++) {
		struct try_row *row = &plan->rows[i];
		struct try_interval interval = { .has_bounds = true };
		char *object;

		if (row->why_not[0])
			continue;
		object = client_next(&at);
		if (object && row->prediction_count < TRY_PREDICTIONS_MAX &&
		    client_real(object, "longer_percent", &interval.value) &&
		    client_real(object, "least_percent", &interval.low) &&
		    client_real(object, "most_percent", &interval.high)) {
			/* No answer is surer than the replay of the unchanged run. */
			interval.low -= fabs(drift);
			interval.high += fabs(drift);
			row->predictions[row->prediction_count++] = interval;
		} else if (!row->withheld[0])
			snprintf(row->withheld, sizeof(row->withheld), "%s",
				 withheld[0] ? withheld : "the analysis has no answer");
		free(object);
	}
}

/* --- Both ------------------------------------------------------------------------------------- */

int try_analysis_begin(struct try_plan *plan, const char *dump, try_meanwhile *meanwhile,
		       void *context)
{
	struct arguments arguments = { .count = 0 };
	char top[32];
	char *text;

	snprintf(top, sizeof(top), "top:%zu", plan->top);
	add(&arguments, "wcprof-analyze");
	add(&arguments, "--quiet");
	for (size_t i = 0; i < plan->row_count; i++) {
		add(&arguments, "--slow-rules");
		add(&arguments, plan->rows[i].query);
	}
	if (plan->top) {
		add(&arguments, "--slow-rules");
		add(&arguments, top);
	}
	if (plan->options->progress) {
		add(&arguments, "--slow-progress");
		add(&arguments, plan->options->progress);
	}
	add(&arguments, "--");
	add(&arguments, dump);
	text = run(&arguments, true, meanwhile, context);
	if (!text)
		return CMD_FAILED;
	take_rows(plan, text);
	take_progress(plan, text);
	free(text);
	return CMD_DONE;
}

/* Rows from `first` to before `end`. False: the analyzer could not answer. */
static bool predict(struct try_plan *plan, const char *dump, size_t first, size_t end)
{
	struct arguments arguments = { .count = 0 };
	char *text;

	add(&arguments, "wcprof-analyze");
	add(&arguments, "--quiet");
	for (size_t i = first; i < end; i++) {
		if (plan->rows[i].why_not[0])
			continue;
		if (arguments.count == 2) {
			add(&arguments, "--slow-rules");
			add(&arguments, plan->rows[i].query);
		}
		add(&arguments, "--what-if");
		add(&arguments, plan->rows[i].what_if);
	}
	if (arguments.count == 2)
		return true;
	add(&arguments, "--");
	add(&arguments, dump);
	text = run(&arguments, false, NULL, NULL);
	if (text)
		take_predictions(plan, text, first, end);
	free(text);
	return text != NULL;
}

void try_analysis_predict(struct try_plan *plan, const char *dump)
{
	if (predict(plan, dump, 0, plan->row_count))
		return;
	/* One class that this recording does not have is no reason to ask about none. */
	for (size_t i = 0; i < plan->row_count; i++)
		(void)predict(plan, dump, i, i + 1);
}
