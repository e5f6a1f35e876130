/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids of rows: FNV-1a with 128 bits, as 32 digits. Equal things of two hosts have
 * the same id.
 *
 *     struct row_id id = row_id_begin();
 *     row_id_add_text(&id, "text");
 *     row_id_add_number(&id, 7);
 *     row_id_text(id, text);
 *
 * Pure functions.
 */
#ifndef WCPROF_ROWIDS_H
#define WCPROF_ROWIDS_H

#include <stdint.h>

enum { ROW_ID_BYTES = 33 };

struct row_id {
	uint64_t high;
	uint64_t low;
};

struct row_id row_id_begin(void);
/* With its end: "a" and "b" are not "ab" and "". */
void row_id_add_text(struct row_id *id, const char *text);
void row_id_add_number(struct row_id *id, uint64_t number);
const char *row_id_text(struct row_id id, char text[ROW_ID_BYTES]);

#endif
