/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules as a client or a file writes them: a word, and a key in hexadecimal; and factors.
 *
 * The control thread's. Text may be anything.
 */
#ifndef WCPROF_SLOW_TEXT_H
#define WCPROF_SLOW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder.h"

/* Adds the rules of a word, whose keys are separated by commas; in a rehearsal none. No such word:
 * -ENOENT. No keys: -EINVAL. Else as slow_add_rule(). */
int slow_text_add(const char *word, size_t word_bytes, const char *keys, size_t key_bytes,
		  bool is_rehearsal) HIDDEN;
/* Thousandths above 1; false: it is no number from 1 to 10 with up to three decimals. */
bool slow_text_factor(const char *, size_t bytes, uint32_t *thousandths) HIDDEN;

/* Does what the file of WCPROF_SLOW says, if there is one. A line on standard error: it cannot. */
void slow_text_load(void) HIDDEN;

#endif
