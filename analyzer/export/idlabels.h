/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which traces have their ids in an export.
 *
 * Samples with ids of their own do not merge, and programs see millions of spans. So the longest
 * traces have them, each with all of its spans, up to so many spans in all. Built once, read-only
 * afterwards. Any thread.
 */
#ifndef WCPROF_IDLABELS_H
#define WCPROF_IDLABELS_H

#include "infer/traces.h"

enum { ID_LABELS_MAX = 10000 /* a profile of some MB */ };

struct id_labels {
	const struct recording *recording;
	const struct traces *traces; /* NULL = none */
	bool *has_labels;            /* by trace */
	size_t left_out;             /* traces without */
};

struct id_label {
	char trace[IDS_TRACE_BYTES]; /* "" = none */
	char span[IDS_SPAN_BYTES];
	char root[IDS_SPAN_BYTES]; /* the span with which this process began to work for it */
};

/* `traces` may be NULL. */
void id_labels_build(struct id_labels *, const struct recording *, const struct traces *);
void id_labels_free(struct id_labels *);

/* Those of what a thread does at that time. False: none. */
bool id_labels_at(const struct id_labels *, uint32_t thread, uint64_t at_ns, struct id_label *);

#endif
