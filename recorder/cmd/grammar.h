/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a probe, taken apart: its place, the values that are wanted, its condition. The
 * meaning of its names is another file's. One thread; nothing is allocated.
 */
#ifndef WCPROF_GRAMMAR_H
#define WCPROF_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe_code.h"

enum {
	PROBE_WORD_BYTES = 256, /* of a name of a function, file or module */
	PROBE_PARTS_MAX = 8,    /* of "a->b.c[3]" */
	PROBE_MEMBER_BYTES = 64,
	PROBE_MESSAGE_BYTES = 1024
};

enum probe_where { PROBE_FUNCTION, PROBE_SOURCE_LINE, PROBE_MARK };

enum probe_part_kind {
	PROBE_PART_MEMBER,  /* .name */
	PROBE_PART_ARROW,   /* ->name */
	PROBE_PART_INDEX,   /* [number] */
	PROBE_PART_CONTENT, /* *... */
	PROBE_PART_ADDRESS  /* &... */
};

struct probe_part {
	enum probe_part_kind kind;
	int64_t index;
	char name[PROBE_MEMBER_BYTES];
};

enum probe_format {
	PROBE_FORMAT_NONE, /* as its type is */
	PROBE_FORMAT_UNSIGNED,
	PROBE_FORMAT_SIGNED,
	PROBE_FORMAT_HEXADECIMAL,
	PROBE_FORMAT_STRING,
	PROBE_FORMAT_REAL
};

/* One value: the parts apply to the base from the first to the last. */
struct probe_expression {
	char label[PROBE_NAME_BYTES];  /* as it is written, or what it is to be called */
	char base[PROBE_MEMBER_BYTES]; /* a variable, "$arg1" to "$arg12", "$ret" */
	struct probe_part parts[PROBE_PARTS_MAX];
	size_t part_count;
	enum probe_format format;
	uint8_t format_bytes; /* 0: as its type is */
	bool is_text;         /* is compared with a string */
	bool is_hidden;       /* only the condition has it */
	uint32_t column;      /* where it begins, from 1 */
};

struct probe_text {
	enum probe_where where;
	char module[PROBE_WORD_BYTES];   /* empty: any */
	char function[PROBE_WORD_BYTES]; /* of a mark: its name */
	char file[PROBE_WORD_BYTES];     /* of a mark: its provider */
	uint32_t line;
	bool is_return; /* %return, or some value is "$ret" */
	struct probe_expression expressions[PROBE_FETCHES_MAX];
	/* With the condition and as many fetches as there are expressions, which are empty. */
	struct probe_code code;
};

/* 0, or -EINVAL: *error says in which column, and what was expected there. */
int probe_parse(const char *text, struct probe_text *parsed, char error[PROBE_MESSAGE_BYTES]);

/* Whether the word is a pattern of the shell's. */
bool probe_is_glob(const char *word);

#endif
