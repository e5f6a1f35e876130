/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of top: a few lines about the whole, and one table; or an object of JSON. One thread.
 */
#ifndef WCPROF_TOP_VIEW_H
#define WCPROF_TOP_VIEW_H

#include "top_control.h"
#include "top_cpu.h"
#include "top_labels.h"
#include "top_open.h"
#include "top_values.h"
#include "top_whatif.h"

enum top_kind {
	TOP_CLASSES,
	TOP_LOCKS,
	TOP_REQUESTS,
	TOP_THREADS,
	TOP_WHATIF,
	TOP_ICICLE,
	TOP_PROBES,
	TOP_KINDS
};

enum top_style { TOP_PLAIN, TOP_TITLE, TOP_HEADING, TOP_WARNING };

enum {
	TOP_LINE_BYTES = 1024,
	TOP_LINES_MAX = 400,
	/* Tables have some columns only in lines of so many. */
	TOP_COLUMNS_WIDE = 100,
	/* Of a name in a table. */
	TOP_CELL_COLUMNS_MAX = 100,
	TOP_CELL_BYTES = 4 * TOP_CELL_COLUMNS_MAX + 1
};

struct top_line {
	char text[TOP_LINE_BYTES];
	enum top_style style;
};

struct top_lines {
	struct top_line *lines; /* TOP_LINES_MAX */
	size_t count;
};

/* Which icicle: the first one is 0. Those of slow calls have one number, and a function each. */
struct top_picture {
	unsigned number;
	uint32_t call; /* string: the function; 0 = the icicle is of no one's calls */
};

/* All that a view is of; nothing of it is changed. */
struct top_state {
	pid_t pid;
	const char *program;
	const struct top_reader *reader;
	const struct top_sums *sums;
	const struct top_cpu *cpu;
	const struct top_open *open;
	struct top_labels *labels;
	uint64_t now_ns;
	struct top_view view;
	unsigned columns; /* of a line */
	struct top_picture picture;
	const char *filter; /* a part of a row's name; "" = all rows */
	const char *status; /* the last answer to STATUS; NULL = none */
	const char *note;   /* the last change, as a sentence; "" = none */
	const struct top_cost *cost;
	double own_cpu;     /* of a CPU, that top takes itself */
	const char *probes; /* the last answer to PROBES; NULL = none */
	const struct top_whatif *whatif;
	bool is_whatif_wanted; /* by who reads JSON */
	bool is_frozen;
	bool is_being_dumped; /* the frozen window, and d must wait */
	const char *ended;    /* a sentence; NULL: the process lives */
};

/* Lines above each table; then a table with at most so many rows. */
void top_view_head(const struct top_state *, struct top_lines *);
void top_view_table(const struct top_state *, enum top_kind, size_t rows, struct top_lines *);
/* top_json.c. Everything as one object, a line. */
void top_view_json(const struct top_state *, size_t rows);

/* --- for the files of the view --- */

void top_line_add(struct top_lines *, enum top_style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* In as many lines as it needs, of so many columns. */
void top_line_wrap(struct top_lines *, enum top_style, unsigned columns, const char *text);
/* "12.3 ms", in 8 columns; "4.5k". */
enum { TOP_WORD_BYTES = 16 };
const char *top_time_text(double ns, char to[TOP_WORD_BYTES]);
const char *top_rate_text(double rate, char to[TOP_WORD_BYTES]);
/* Whether the filter lets a row of that name through. */
bool top_is_wanted(const struct top_state *, const char *name);
const struct top_entry *top_thread_entry(const struct top_state *, uint32_t number);
/* Time of a thread in the view, with the part that goes on. */
double top_thread_ns(const struct top_state *, pid_t tid, enum top_part);

/* top_tables.c. Of the view, the most time first; the caller frees the list. Classes of one name
 * are one: they were called from several places of one function. */
struct top_class {
	char name[TOP_LABEL_BYTES];
	const char *kind;
	struct top_sum sum;
};
struct top_class *top_classes_of(const struct top_state *, size_t *count);
/* Locks that were taken or waited for, or are waited for now. Waits that have not ended are in the
 * times, but are not counted yet. Those first that were waited for the longest. */
struct top_lock {
	uint64_t address;
	uint32_t ident; /* string */
	struct top_sum taken, waited;
	unsigned waiters; /* now; the rest is 0 where there are none */
	pid_t holder;
	uint64_t held_ns;
};
struct top_lock *top_locks_of(const struct top_state *, size_t *count);
/* Requests of the view and those that are running, the slowest first. Time of a thread's call that
 * goes on is in the parts of the request that it serves. */
struct top_request *top_slow_of(const struct top_state *, size_t *count);
void top_table_classes(const struct top_state *, size_t rows, struct top_lines *);
void top_table_locks(const struct top_state *, size_t rows, struct top_lines *);
void top_table_requests(const struct top_state *, size_t rows, struct top_lines *);
void top_table_threads(const struct top_state *, size_t rows, struct top_lines *);
void top_table_whatif(const struct top_state *, size_t rows, struct top_lines *);
/* Columns for names: the numbers have the others. */
int top_name_width(const struct top_state *);

/* top_callview.c */
void top_table_probes(const struct top_state *, size_t rows, struct top_lines *);
/* "n=3 name=\"x\"": of a call, as far as they are known. */
void top_values_text(const struct top_state *, uint64_t op, char *to, size_t size);
/* "parse(len)"; whether the filter lets it through. */
bool top_value_label(const struct top_state *, const struct top_value_row *,
		     char label[2 * TOP_LABEL_BYTES]);

/* top_flames.c */
void top_table_icicle(const struct top_state *, size_t rows, struct top_lines *);
/* The next one, or the one before, in a ring. Functions are those that were called since then. */
struct top_picture top_picture_next(const struct top_sums *, uint64_t since_ns, struct top_picture,
				    bool is_back);
/* "running", "locks" */
const char *top_activity_word(enum top_part);
/* Names of a stack's functions, the outermost first, then the call and the lock: how many; "" where
 * there is no room. */
enum { TOP_FRAMES_MAX = STACK_FRAMES_MAX + 2 };
size_t top_stack_names(const struct top_state *, const struct top_stack *,
		       char names[TOP_FRAMES_MAX][TOP_LABEL_BYTES]);

#endif
