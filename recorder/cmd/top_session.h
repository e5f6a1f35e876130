/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a running wcprof top, for the files that make up its loop. One thread.
 */
#ifndef WCPROF_TOP_SESSION_H
#define WCPROF_TOP_SESSION_H

#include "cmd.h"
#include "probe_order.h"
#include "top_dump.h"
#include "top_terminal.h"
#include "top_view.h"

enum {
	TOP_INPUT_BYTES = 512,
	TOP_FILTER_BYTES = 64,
	TOP_VIEW_SECONDS = 10,
	TOP_PROBES_MAX = 64 /* that are taken out in the end */
};

struct top {
	struct cmd_options *options;
	struct target target;
	struct top_directory directory; /* of files that are removed in the end */
	struct top_control control;
	struct top_reader reader;
	struct top_resolver *resolver;
	struct top_labels *labels;
	struct top_sums sums;
	struct top_cpu cpu;
	struct top_open open; /* as of the last look */
	struct top_whatif whatif;
	struct top_dump frozen; /* the window that is shown, while it is frozen */
	struct top_terminal terminal;
	struct top_lines lines;
	enum top_kind kind;
	struct top_picture picture;
	struct top_view view;
	uint64_t now_ns; /* when it looked last */
	uint64_t interval_ns;
	double own_cpu;
	uint64_t own_cpu_ns, own_at_ns;
	unsigned long looks_left; /* 0 = no bound */
	char filter[TOP_FILTER_BYTES];
	char input[TOP_INPUT_BYTES]; /* that is being typed, after its question */
	const char *question;        /* NULL = keys are commands */
	int question_key;
	char note[TOP_NOTE_BYTES];
	pid_t prober;  /* the wcprof probe that is at work; 0 = none */
	int prober_fd; /* its output */
	bool is_removing;
	char own_probes[TOP_PROBES_MAX][PROBE_ORDER_NAME_BYTES]; /* that this command put in */
	size_t own_probe_count;
	bool is_frozen;
	bool has_ended;
	char ended[96]; /* then: a sentence about that */
	bool is_over;
	bool shows_help;
	int signals; /* fd */
};

/* Reads what is new, unless it is frozen. */
void top_look(struct top *);
/* top_keys.c. */
void top_pressed(struct top *, int key);
void top_help(struct top_lines *);
/* top_probe.c. Puts a probe in, or takes probes out, as wcprof probe does. */
void top_probe(struct top *, const char *text, bool is_removal);
/* Takes what came of it. */
void top_probe_tick(struct top *);
/* Takes out those that this command put in. */
void top_probe_end(struct top *);

/* How much of time the view is of. */
static inline uint64_t top_window_ns(const struct top *top)
{
	return (uint64_t)(top_view_seconds(&top->sums, top->view, top->now_ns) * 1e9);
}

#endif
