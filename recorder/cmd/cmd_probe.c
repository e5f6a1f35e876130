/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof probe: records calls of functions that are named while the program runs.
 *
 * All is looked up and planned here (probe_spec.h, probe_plan.h); the process gets orders.
 */
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "probe_list.h"
#include "probe_plan.h"
#include "probe_spec.h"
#include "visible.h"

enum { ORDER_LINE_BYTES = 32 + 2 * sizeof(struct probe_order), PATH_BYTES = 4200 };

/* One process that is asked. */
struct probing {
	const struct cmd_options *options;
	const struct target *target;
	uint64_t min_ns;
	const char *when;
	uint32_t done;
	uint32_t refused;
};

/* The function's bytes, as its file has them; to be freed. NULL: it cannot be read. */
static uint8_t *read_code(pid_t pid, const struct probe_place *place, uint32_t *bytes)
{
	char path[PATH_BYTES];
	uint8_t *code;
	int fd;

	*bytes = (uint32_t)(place->high - place->low);
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, place->module->path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	code = fd >= 0 ? malloc(*bytes) : NULL;
	if (code && pread(fd, code, *bytes, (off_t)place->offset) != (ssize_t)*bytes) {
		free(code);
		code = NULL;
	}
	if (fd >= 0)
		close(fd);
	return code;
}

static const char *plan(pid_t pid, const struct probe_place *place, struct probe_order *order)
{
	const char *why = probe_plan_place(place);
	uint32_t bytes;
	uint8_t *code;

	if (why)
		return why;
	if (place->high - place->low > PROBE_CODE_MAX)
		return "it is too large to be read as a whole";
	code = read_code(pid, place, &bytes);
	if (!code)
		return "its file cannot be read";
	why = probe_plan(code, bytes, order);
	free(code);
	return why;
}

static bool send_order(struct probing *probing, const struct probe_order *order,
		       struct client_answer *answer)
{
	char line[ORDER_LINE_BYTES];
	const uint8_t *from = (const uint8_t *)order;
	size_t used = (size_t)snprintf(line, sizeof(line), "PROBE order=");

	for (size_t i = 0; i < sizeof(*order); i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%02x", from[i]);
	return client_ask(probing->target->socket, line, answer) && answer->is_ok;
}

static void refuse(struct probing *probing, const struct probe_place *place, const char *why)
{
	probing->refused++;
	(void)cmd_fail("%d %s: %s of %s is not probed: %s", (int)probing->target->pid,
		       probing->target->name, place->function, place->module->path, why);
}

static void probe_one(struct probing *probing, const struct probe_place *place)
{
	static struct probe_order order;
	struct client_answer answer;
	const char *why;

	memset(&order, 0, sizeof(order));
	order.bytes = sizeof(order);
	order.version = FORMAT_VERSION;
	order.address = place->address + place->module->bias;
	order.bias = place->module->bias;
	order.min_ns = probing->min_ns;
	order.code = place->code;
	snprintf(order.name, sizeof(order.name), "%.*s", PROBE_ORDER_NAME_BYTES - 1,
		 place->function);
	snprintf(order.when, sizeof(order.when), "%s", probing->when);
	why = plan(probing->target->pid, place, &order);
	if (!why && !send_order(probing, &order, &answer))
		why = answer.text;
	if (why) {
		refuse(probing, place, why);
		return;
	}
	probing->done++;
	if (probing->options->json)
		visible_puts_object(answer.text);
	else if (!probing->options->quiet)
		printf("%d %s: %s of %s is probed\n", (int)probing->target->pid,
		       visible(probing->target->name), place->function, place->module->path);
}

/* One sentence a line. */
static void say_notes(const struct probing *probing, char *notes)
{
	if (!notes)
		return;
	for (char *note = strtok(notes, "\n"); note; note = strtok(NULL, "\n"))
		cmd_say(probing->options, "%s", note);
}

static int probe_all(struct probing *probing, struct probe_target *process)
{
	char error[PROBE_ERROR_BYTES];

	for (int i = 1; i < probing->options->argument_count; i++) {
		struct probe_places found;

		if (probe_find(process, probing->options->arguments[i], &found, error) != 0) {
			probing->refused++;
			(void)cmd_fail("%d %s: %s", (int)probing->target->pid,
				       probing->target->name, error);
			continue;
		}
		for (size_t at = 0; at < found.count; at++)
			probe_one(probing, &found.places[at]);
		say_notes(probing, found.notes);
		probe_places_free(&found);
	}
	return probing->refused ? CMD_FAILED : CMD_DONE;
}

static int probe_process(struct probing *probing)
{
	char error[PROBE_ERROR_BYTES];
	struct probe_target *process;
	int status;

	if (!probing->target->socket[0])
		return cmd_fail("%d %s: %s", (int)probing->target->pid, probing->target->name,
				target_why_silent(probing->target));
	process = probe_target_open(probing->target->pid, error);
	if (!process)
		return cmd_fail("%d %s: %s", (int)probing->target->pid, probing->target->name,
				error);
	status = probe_all(probing, process);
	probe_target_close(process);
	return status;
}

/* "10us", "1ms", "2s", "500ns"; false: it is no time. */
static bool read_time(const char *text, uint64_t *ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *end;
	double value = strtod(text, &end);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (end == text || strcmp(end, units[i].unit) != 0 || !(value >= 0) ||
		    value * units[i].ns > 1e15)
			continue;
		*ns = (uint64_t)(value * units[i].ns);
		return true;
	}
	return false;
}

/* --- --list and --remove ---------------------------------------------------------------------- */

static void print_list(const struct target *target, const char *object)
{
	const char *at = client_array(object, "probes");
	uint64_t left_out = 0;
	char *probe;

	at = at ? at + 1 : at;
	while (at && (probe = client_next(&at))) {
		char name[PROBE_ORDER_NAME_BYTES * 6];
		uint64_t calls = 0, brief = 0, unmet = 0;

		(void)client_number(probe, "calls", &calls);
		(void)client_number(probe, "brief", &brief);
		(void)client_number(probe, "unmet", &unmet);
		if (client_string(probe, "name", name, sizeof(name)))
			printf("%d %s: %s: %llu calls while recording, %llu of them too short to "
			       "be recorded, %llu not as the condition says\n",
			       (int)target->pid, visible(target->name), name,
			       (unsigned long long)calls, (unsigned long long)brief,
			       (unsigned long long)unmet);
		free(probe);
	}
	if (client_number(object, "left_out", &left_out) && left_out)
		printf("%d %s: and %llu more\n", (int)target->pid, visible(target->name),
		       (unsigned long long)left_out);
}

static void print_removed(const struct target *target, const char *object)
{
	uint64_t count = 0;

	(void)client_number(object, "removed", &count);
	printf("%d %s: %llu probes were removed\n", (int)target->pid, visible(target->name),
	       (unsigned long long)count);
}

static void print_nothing(const struct target *target, const char *object)
{
	(void)target;
	(void)object;
}

static int remove_probes(struct cmd_options *options)
{
	char line[16 + PROBE_ORDER_NAME_BYTES] = "UNPROBE";

	if (strlen(options->remove) >= PROBE_ORDER_NAME_BYTES || strpbrk(options->remove, " \n"))
		return cmd_fail("%s: there is no probe of that name", options->remove);
	if (strcmp(options->remove, "all") != 0)
		snprintf(line, sizeof(line), "UNPROBE name=%s", options->remove);
	return cmd_ask(options, line, options->quiet ? print_nothing : print_removed);
}

/* --- what can be probed ----------------------------------------------------------------------- */

static int list_of(const struct cmd_options *options, struct probe_target *process,
		   const char *argument, char *error)
{
	switch (options->listed) {
	case '8':
		return probe_list_functions(process, argument, stdout, error);
	case '9':
		return probe_list_variables(process, argument, stdout, error);
	case '0':
		return probe_list_lines(process, argument, stdout, error);
	default:
		return probe_list_marks(process, stdout, error);
	}
}

/* Needs no recorder in the process; but it is found by that, as all are. */
static int list_what_can_be(const struct cmd_options *options, const struct target *target)
{
	char error[PROBE_ERROR_BYTES];
	const char *argument = options->arguments[1]; /* NULL behind the last */
	struct probe_target *process;
	int result;

	if (!argument && (options->listed == '9' || options->listed == '0'))
		return cmd_fail("--%s: of which function, or FILE:LINE?",
				options->listed == '9' ? "vars" : "lines");
	process = probe_target_open(target->pid, error);
	if (!process)
		return cmd_fail("%d %s: %s", (int)target->pid, target->name, error);
	result = list_of(options, process, argument, error);
	probe_target_close(process);
	return result == 0 ? CMD_DONE
			   : cmd_fail("%d %s: %s", (int)target->pid, target->name, error);
}

int cmd_probe(struct cmd_options *options)
{
	struct probing probing = { .options = options };
	struct target_list found;
	int status;

	if (options->remove)
		return remove_probes(options);
	if (options->list || (options->argument_count == 1 && !options->listed))
		return cmd_ask(options, "PROBES", print_list);
	if (options->min && !read_time(options->min, &probing.min_ns))
		return cmd_fail("--min %s: a number and ns, us, ms or s", options->min);
	if (options->when && !cmd_check_condition("when", options->when))
		return CMD_USAGE;
	probing.when = options->when ? options->when : "";
	status = cmd_find(options, &found);
	if (status != CMD_DONE)
		return status;
	for (size_t i = 0; i < found.count; i++) {
		int result;

		probing.target = &found.targets[i];
		result = options->listed ? list_what_can_be(options, probing.target)
					 : probe_process(&probing);
		status = result == CMD_DONE ? status : result;
	}
	target_list_free(&found);
	return status;
}
