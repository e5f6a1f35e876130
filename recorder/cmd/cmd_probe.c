/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wcprof probe: records calls of functions that are named while the program runs.
 *
 * All is looked up and planned here (probe_spec.h, probe_plan.h); the process gets orders.
 */
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "probe_list.h"
#include "probe_plan.h"
#include "probe_spec.h"
#include "segment.h"
#include "visible.h"

enum {
	ORDER_LINE_BYTES = 64 + 2 * sizeof(struct probe_order),
	PATH_BYTES = 4200,
	NEAREST_LINES_MAX = 20 /* lines up and down that are tried instead of one */
};

/* One process that is asked. */
struct probing {
	const struct cmd_options *options;
	const struct target *target;
	uint64_t min_ns;
	uint16_t min_permille;
	const char *when;
	struct condition_sites sites; /* of `when`, in the process */
	uint32_t done;
	uint32_t refused;
	struct probe_target *process;
	/* The code that was read last. */
	const struct probe_module *module;
	struct segment segment;
};

/* In the code of a file: bytes [low, high) around the place. */
static const char *plan_in(const struct segment *segment, const struct probe_place *place,
			   struct probe_order *order)
{
	/* The place's offset is known, and so is the function's. */
	uint64_t begin = place->offset - (place->address - place->low) - segment->offset;
	uint32_t bytes = (uint32_t)(place->high - place->low);
	const struct probe_text_bytes text = { segment->bytes, segment->count, begin, bytes };

	if (begin > segment->count || bytes > segment->count - begin)
		return "its function is not all of it in its file";
	if (place->kind == PROBE_AT_ENTRY)
		return probe_plan(segment->bytes + begin, bytes, order);
	return probe_plan_within(&text, (uint32_t)(place->address - place->low), order);
}

static bool read_code(struct probing *probing, const struct probe_place *place)
{
	char path[PATH_BYTES];

	if (probing->module == place->module &&
	    place->offset - probing->segment.offset < probing->segment.count)
		return true;
	segment_free(&probing->segment);
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)probing->target->pid,
		 place->module->path);
	probing->module = place->module;
	return segment_read(path, place->offset, &probing->segment);
}

static const char *plan(struct probing *probing, const struct probe_place *place,
			struct probe_order *order)
{
	uint64_t bias = place->module->bias;
	const char *why = probe_plan_place(place);

	*order = (struct probe_order){
		.bytes = sizeof(*order),
		.version = FORMAT_VERSION,
		.address = place->address + bias,
		.place = place->address + bias,
		.semaphore = place->semaphore ? place->semaphore + bias : 0,
		.bias = bias,
		.min_ns = probing->min_ns,
		.min_permille = probing->min_permille,
		.code = place->code,
	};
	snprintf(order->name, sizeof(order->name), "%.*s", PROBE_ORDER_NAME_BYTES - 1,
		 place->label);
	snprintf(order->when, sizeof(order->when), "%s", probing->when);
	order->sites = probing->sites;
	if (why)
		return why;
	if (place->high - place->low > PROBE_CODE_MAX)
		return "its function is too large to be read as a whole";
	if (!read_code(probing, place))
		return "its file cannot be read";
	return plan_in(&probing->segment, place, order);
}

/* --- Another line ----------------------------------------------------------------------------- */

/* All places of the line can be planned. */
static bool is_line_free(struct probing *probing, const struct probe_place *place, uint32_t line)
{
	static struct probe_order order;
	char text[PROBE_FUNCTION_BYTES + 16], error[PROBE_ERROR_BYTES];
	struct probe_places found;
	bool is_free;

	snprintf(text, sizeof(text), "%s:%u", place->file, line);
	if (line == 0 || probe_find(probing->process, text, &found, error) != 0)
		return false;
	is_free = found.count > 0;
	for (size_t i = 0; i < found.count && is_free; i++)
		is_free = found.places[i].line == line && !plan(probing, &found.places[i], &order);
	probe_places_free(&found);
	return is_free;
}

/* The nearest line that can be probed; 0: there is none nearby. */
static uint32_t nearest_line(struct probing *probing, const struct probe_place *place)
{
	for (uint32_t far = 1; far <= NEAREST_LINES_MAX; far++) {
		if (is_line_free(probing, place, place->line + far))
			return place->line + far;
		if (far < place->line && is_line_free(probing, place, place->line - far))
			return place->line - far;
	}
	return 0;
}

static bool send_order(struct probing *probing, const struct probe_order *order,
		       struct client_answer *answer)
{
	char line[ORDER_LINE_BYTES];
	const uint8_t *from = (const uint8_t *)order;
	size_t used = (size_t)snprintf(line, sizeof(line), "PROBE order=");

	for (size_t i = 0; i < sizeof(*order); i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%02x", from[i]);
	if (probing->options->lease)
		snprintf(line + used, sizeof(line) - used, " lease_s=%s", probing->options->lease);
	return client_ask(probing->target->socket, line, answer) && answer->is_ok;
}

static void refuse(struct probing *probing, const struct probe_place *place, const char *why)
{
	uint32_t line = place->kind == PROBE_AT_LINE ? nearest_line(probing, place) : 0;
	char more[64] = "";

	if (line)
		snprintf(more, sizeof(more), "; the nearest line that can be is %u", line);
	probing->refused++;
	(void)cmd_fail("%d %s: %s%s%s of %s is not probed: %s%s", (int)probing->target->pid,
		       probing->target->name, place->label,
		       place->kind == PROBE_AT_ENTRY ? "" : " in ",
		       place->kind == PROBE_AT_ENTRY ? "" : place->function, place->module->path,
		       why, more);
}

static void probe_one(struct probing *probing, const struct probe_place *place)
{
	static struct probe_order order;
	struct client_answer answer;
	const char *why;

	why = plan(probing, place, &order);
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
		       visible(probing->target->name), place->label, place->module->path);
}

/* One sentence a line. */
static void say_notes(const struct probing *probing, char *notes)
{
	if (!notes)
		return;
	for (char *note = strtok(notes, "\n"); note; note = strtok(NULL, "\n"))
		cmd_say(probing->options, "%s", note);
}

static int probe_all(struct probing *probing)
{
	char error[PROBE_ERROR_BYTES];

	for (int i = 1; i < probing->options->argument_count; i++) {
		struct probe_places found;

		if (probe_find(probing->process, probing->options->arguments[i], &found, error) !=
		    0) {
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

/* Where the code is that the condition asks for, if it does. */
static bool find_site(struct probing *probing, char error[PROBE_ERROR_BYTES])
{
	struct condition condition;
	const char *site;

	(void)condition_parse(probing->when, strlen(probing->when), &condition, NULL);
	site = condition_site(&condition);
	probing->sites = (struct condition_sites){ 0 };
	return !site || probe_sites(probing->process, site, &probing->sites, error) == 0;
}

static int probe_process(struct probing *probing)
{
	char error[PROBE_ERROR_BYTES];
	int status;

	if (!probing->target->socket[0])
		return cmd_fail("%d %s: %s", (int)probing->target->pid, probing->target->name,
				target_why_silent(probing->target));
	probing->process = probe_target_open(probing->target->pid, error);
	if (!probing->process)
		return cmd_fail("%d %s: %s", (int)probing->target->pid, probing->target->name,
				error);
	status = find_site(probing, error)
			 ? probe_all(probing)
			 : cmd_fail("%d %s: --when: %s", (int)probing->target->pid,
				    probing->target->name, error);
	segment_free(&probing->segment);
	probing->module = NULL;
	probe_target_close(probing->process);
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

/* The process says which are too many. */
static bool is_whole_number(const char *text)
{
	return text[0] && strlen(text) < 10 && strspn(text, "0123456789") == strlen(text);
}

/* "p95", "p99.9": its thousandths; false: it is none of them. */
static bool read_percentile(const char *text, uint16_t *permille)
{
	char *end;
	double value = text[0] == 'p' && strspn(text + 1, "0123456789.") == strlen(text + 1)
			       ? strtod(text + 1, &end)
			       : 0;

	*permille = (uint16_t)(value * 10 + 0.5);
	return value >= 0.1 && value <= 99.9 && !*end;
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
		uint64_t calls = 0, brief = 0, unmet = 0, permille = 0, min_ns = 0, left_ms;
		char share[64] = "", lease[64] = "";

		(void)client_number(probe, "calls", &calls);
		(void)client_number(probe, "brief", &brief);
		(void)client_number(probe, "unmet", &unmet);
		(void)client_number(probe, "min_permille", &permille);
		(void)client_number(probe, "min_ns", &min_ns);
		if (permille)
			snprintf(share, sizeof(share), " (below p%g, now %.1f us)",
				 (double)permille / 10, (double)min_ns / 1e3);
		if (client_number(probe, "lease_left_ms", &left_ms))
			snprintf(lease, sizeof(lease), "; goes in %llu s if nobody renews that",
				 (unsigned long long)(left_ms / 1000 + 1));
		if (client_string(probe, "name", name, sizeof(name)))
			printf("%d %s: %s: %llu calls while recording, %llu of them too short to "
			       "be recorded%s, %llu not as the condition says%s\n",
			       (int)target->pid, visible(target->name), name,
			       (unsigned long long)calls, (unsigned long long)brief, share,
			       (unsigned long long)unmet, lease);
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
	if (options->min && !read_time(options->min, &probing.min_ns) &&
	    !read_percentile(options->min, &probing.min_permille))
		return cmd_fail("--min %s: a number and ns, us, ms or s; or p1 to p99.9",
				options->min);
	if (options->lease && !is_whole_number(options->lease))
		return cmd_fail("--lease %s: a number of seconds", options->lease);
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
