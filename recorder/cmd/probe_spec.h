/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a user writes of a probe to places in the files of a process, and to what is read
 * there:
 *
 *	parse_query(q->len, name:str) if q->len > 1MB
 *	libfoo.so:parse_query%return($ret)
 *	query.c:123(x, y)
 *	usdt:postgresql:query__start($arg1:str)
 *
 * wcprof-probe(1) has the grammar. The process is only read: its map and its files, as it sees
 * them. One thread.
 */
#ifndef WCPROF_PROBE_SPEC_H
#define WCPROF_PROBE_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "condition.h"
#include "probe_code.h"

enum {
	PROBE_BUILD_ID_BYTES = 20,  /* as gcc and clang have them */
	PROBE_FUNCTION_BYTES = 256, /* of a name, which may be cut */
	PROBE_PLACES_MAX = 64,      /* of one text: more are refused, as nobody meant them */
	PROBE_ERROR_BYTES = 1024    /* enough for each sentence that is said */
};

/* A file that the process has mapped as code. */
struct probe_module {
	const char *path; /* as the process sees it */
	uint64_t bias;    /* address in the process = address in the file + bias */
	uint8_t build_id[PROBE_BUILD_ID_BYTES];
	uint8_t build_id_bytes; /* 0: it has none */
};

enum probe_kind {
	PROBE_AT_ENTRY, /* the first instruction of a function */
	PROBE_AT_LINE,  /* the first one of a line, in one function or inlined copy of one */
	PROBE_AT_USDT   /* a NOP that the program's author left there */
};

struct probe_place {
	enum probe_kind kind;
	const struct probe_module *module;   /* of the target */
	char label[PROBE_FUNCTION_BYTES];    /* "parse", "query.c:123", "usdt:postgresql:begin" */
	char function[PROBE_FUNCTION_BYTES]; /* that it is in, readable; empty: not known */
	char file[PROBE_FUNCTION_BYTES];     /* of its source; empty: not known */
	uint32_t line;       /* that is probed, or where the function begins; 0: not known */
	uint64_t address;    /* in the file, as in its symbol table */
	uint64_t offset;     /* from the file's first byte */
	uint64_t low, high;  /* the function is [low, high), in the file; 0, 0: not known */
	uint64_t semaphore;  /* USDT: the 16-bit counter to raise, in the file; 0: it has none */
	bool is_return;      /* %return, or a value that is known only then */
	bool has_debug_info; /* else the next two are not known */
	bool takes_stack_parameters; /* a call-through must not move the stack */
	bool is_variadic;            /* "..." */
	struct probe_code code;
};

struct probe_places {
	struct probe_place *places;
	size_t count;
	/* News of a success, a line each: inlined copies that are not seen. NULL: none. */
	char *notes;
};

struct probe_target;

/* NULL: its map cannot be read; *error says why. */
struct probe_target *probe_target_open(pid_t pid, char error[PROBE_ERROR_BYTES]);
/* One file that nobody runs, its bias 0. NULL: it is none. */
struct probe_target *probe_target_open_file(const char *path, char error[PROBE_ERROR_BYTES]);
/* The modules go with it. */
void probe_target_close(struct probe_target *target);

/*
 * All places of a text: 0, or *error says what is wrong, where, and what to do next.
 *
 *	-EINVAL   it is no such text
 *	-ENOENT   there is no such place, or no such variable
 *	-E2BIG    it is too many places, or too much for a program
 *	-ENOTSUP  it cannot be had
 */
int probe_find(struct probe_target *target, const char *text, struct probe_places *found,
	       char error[PROBE_ERROR_BYTES]);
void probe_places_free(struct probe_places *places);

/* The code of functions or lines that a text names, in the process. As probe_find(). */
int probe_sites(struct probe_target *target, const char *text, struct condition_sites *sites,
		char error[PROBE_ERROR_BYTES]);

#endif
