/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of recorded stacks for frames of Python programs, once they were made. A stack has many of
 * them, and most were in stacks before.
 *
 * Entries may be lost to others. Threads: any, without a lock.
 */
#ifndef WCPROF_PYTHON_WORDS_H
#define WCPROF_PYTHON_WORDS_H

#include <stdint.h>

#include "recorder.h"

/* By a digest of all that the word says, and of the recording that has it; 0: it is not known. */
uint64_t python_words_find(uint64_t digest) HIDDEN;
void python_words_note(uint64_t digest, uint64_t word) HIDDEN;

#endif
