/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the parts of the exporter for the Firefox Profiler: its tables, which grow as threads
 * are written, and come last in the file. One thread.
 */
#ifndef WCPROF_FIREFOX_PARTS_H
#define WCPROF_FIREFOX_PARTS_H

#include "contended.h"
#include "exporters.h"
#include "idlabels.h"
#include "jsongz.h"
#include "lanenames.h"
#include "recording/addresses.h"
#include "walk.h"

enum firefox_category {
	CATEGORY_UNEXPLAINED,
	CATEGORY_RUNNING,
	CATEGORY_QUEUED,
	CATEGORY_LOCK,
	CATEGORY_OTHERS, /* a wait that another thread or process ends */
	CATEGORY_IO,
	CATEGORY_POLL,
	CATEGORY_SLEEP,
	CATEGORY_IDLE
};

enum { CATEGORIES = CATEGORY_IDLE + 1 };

struct firefox {
	struct export *export;
	struct jsongz *json;
	struct walk walk;
	struct lane_names lanes;
	struct contended contended;
	struct id_labels ids;
	struct recording texts;   /* strings alone: the file's */
	uint32_t *text_of;        /* by string of the recording: its text, less one; 0 = not yet */
	struct addresses sources; /* texts of paths */
	struct addresses libs;    /* strings of paths */
	struct addresses functions;
	struct addresses frames;
	struct addresses stacks;
	uint32_t *stack_of;  /* by stack: its node, less one; 0 = not yet */
	uint32_t *lib_texts; /* by lib: its name */
	size_t lib_room;
	struct addresses
		leaves; /* innermost frames of what is no function: (state and cause, name) */
	uint32_t *leaf_frames;
	size_t leaf_room;
	struct addresses subcategories; /* (category, cause) */
	uint32_t subcategory_of[CATEGORIES];
	uint32_t *subcategory; /* by index in `subcategories`: its number in the category */
	size_t subcategory_room;
	size_t marker_count, marker_all; /* written, and there were */
};

/* Numbers in the tables of the file. */
uint32_t firefox_text(struct firefox *, const char *text);
uint32_t firefox_string(struct firefox *, uint32_t string);
uint32_t firefox_thread_text(struct firefox *, uint32_t thread);
/* Of a call stack alone; NO_INDEX = no frame of it is known. */
uint32_t firefox_stack(struct firefox *, uint32_t stack);
/* With what the thread was in as the innermost frame. */
uint32_t firefox_slice_stack(struct firefox *, const struct walk_slice *);
enum firefox_category firefox_category_of(const struct recording *, uint32_t cause);

void firefox_put_tables(struct firefox *);
void firefox_put_categories(struct firefox *);
void firefox_put_libs(struct firefox *);
void firefox_tables_free(struct firefox *);

/* The longest markers of all lanes: threads, then locks. */
struct firefox_markers;

struct firefox_markers *firefox_markers_new(struct firefox *);
void firefox_markers_free(struct firefox_markers *);
/* Those of a lane, which are asked for in order. */
void firefox_put_markers(struct firefox *, struct firefox_markers *, uint32_t lane);
void firefox_put_schemas(struct firefox *);

/* `[`, the numbers with commas, `]`: each from a function. */
void firefox_put_column(struct firefox *, const char *name, size_t count,
			void (*put)(struct firefox *, const void *context, size_t index),
			const void *context);
/* A column that has the same value everywhere. */
void firefox_put_same(struct firefox *, const char *name, size_t count, const char *value);

#endif
