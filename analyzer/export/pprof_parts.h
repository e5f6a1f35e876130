/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the parts of the pprof export: the profiles that are filled side by side, and the
 * labels of their samples. One thread.
 */
#ifndef WCPROF_PPROF_PARTS_H
#define WCPROF_PPROF_PARTS_H

#include "idlabels.h"
#include "profile.h"
#include "recording/addresses.h"
#include "report/analysis.h"
#include "report/facts.h"
#include "request_spans.h"
#include "walk.h"

enum pprof_file { PPROF_CPU, PPROF_WALL, PPROF_BLOCK, PPROF_MUTEX, PPROF_THREADS, PPROF_WAIT };

enum { PPROF_FILES = PPROF_WAIT + 1 };

enum pprof_label {
	PPROF_THREAD_ID,
	PPROF_THREAD_NAME,
	PPROF_PROCESS_ID,
	PPROF_PROCESS,
	PPROF_STATE,
	PPROF_IDLE,
	PPROF_REASON,
	PPROF_LOCK,
	PPROF_RESOURCE,
	PPROF_CLASS,
	PPROF_HOLDER,
	PPROF_REQUEST_KIND,
	PPROF_ENDPOINT,
	PPROF_TRACE_ID,
	PPROF_SPAN_ID,
	PPROF_SPAN_NUMBER,
	PPROF_ROOT_SPAN_NUMBER,
	PPROF_TRACE_ENDPOINT
};

enum { PPROF_LABELS = PPROF_TRACE_ENDPOINT + 1 };

struct pprof {
	const struct analysis *analysis;
	const struct recording *recording;
	struct walk walk;
	struct request_spans spans;
	struct id_labels ids;
	uint64_t end_ns;         /* of the last op: so far the profiles go */
	struct addresses pids;   /* (host, pid) to index */
	uint32_t *last_of_pid;   /* by that: process index */
	struct addresses leaves; /* (leaf, name) to index */
	char **leaf_texts;       /* NULL = none */
	size_t leaf_room;
	struct profile *profiles[PPROF_FILES];
};

/* All six profiles, filled; to be ended. */
void pprof_begin(struct pprof *pprof, const struct analysis *analysis);
void pprof_end(struct pprof *pprof);
/* When the recording began, and how long it is; no comments. */
struct profile_facts pprof_facts(const struct pprof *pprof);

/* A sample in the making: its labels are numbers of one profile. */
struct pprof_sample {
	struct profile *profile;
	uint32_t stack, leaf;
	uint32_t labels[PPROF_LABELS];
};

struct pprof_sample pprof_sample(struct pprof *pprof, enum pprof_file file, uint32_t stack);
void pprof_add(const struct pprof_sample *sample, const uint64_t *values);

/* "" leaves a label out. */
void pprof_label(struct pprof_sample *sample, enum pprof_label label, const char *text);
/* NO_INDEX leaves these out, NULL a request. */
void pprof_label_thread(struct pprof *pprof, struct pprof_sample *sample, uint32_t thread);
void pprof_label_class(struct pprof *pprof, struct pprof_sample *sample, uint32_t class);
void pprof_label_request(struct pprof *pprof, struct pprof_sample *sample,
			 const struct walk_request *request);
/* The ids in force on a thread at that time; of a request that is traced also what it is. */
void pprof_label_ids(struct pprof *pprof, struct pprof_sample *sample, uint32_t thread,
		     uint64_t at_ns, const struct walk_request *request);
/* Also the last frame. `cause` as a slice has it; `name` a string id. */
void pprof_label_state(struct pprof *pprof, struct pprof_sample *sample, enum walk_state state,
		       uint32_t cause, uint32_t name);

/* block.pprof and mutex.pprof */
void pprof_add_waits(struct pprof *pprof);
void pprof_add_holders(struct pprof *pprof);

#endif
