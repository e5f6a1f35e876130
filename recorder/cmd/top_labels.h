/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words for what an arena has as numbers: classes as the analyzer calls them, locks, connections.
 * All are fit for a terminal. One thread.
 */
#ifndef WCPROF_TOP_LABELS_H
#define WCPROF_TOP_LABELS_H

#include "top_read.h"
#include "top_resolve.h"
#include "top_sums.h"

enum { TOP_LABEL_BYTES = TOP_NAME_BYTES };

struct top_labels;

/* NULL: there is no memory. Both must outlive it; without a resolver, names are numbers. */
struct top_labels *top_labels_begin(const struct top_reader *, struct top_resolver *);
void top_labels_end(struct top_labels *);

/* For top_sums_add(). */
struct top_names top_labels_names(struct top_labels *);
/* "parse/read", "hold table_lock", "mutex table_lock": a class's, and its kind. */
void top_labels_class(struct top_labels *, const struct top_entry *, char *to, size_t size);
const char *top_labels_kind(const struct top_entry *);
/* Of a frame of a stack: "parse"; a number as long as its name is not known. */
void top_labels_function(struct top_labels *, uint64_t frame, char *to, size_t size);
/* "table_lock" */
void top_labels_lock(struct top_labels *, uint64_t address, uint32_t ident, char *to, size_t size);
void top_labels_string(struct top_labels *, uint32_t id, char *to, size_t size);

#endif
