/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that dumps are written to, one after the other; compressed with zstd when its name
 * ends in .zst.
 *
 * A dump is in the file whole or not at all: what output_begin() began is taken back by
 * output_abandon(), and by an error. (Not from a pipe or terminal, where what was written is
 * gone.) Each dump is a zstd frame of its own, so that this holds for compressed files too. Not
 * shared between threads.
 */
#ifndef WCPROF_OUTPUT_H
#define WCPROF_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct output;

/* Opens the file, which is emptied; "-" is standard output. NULL: *error is -errno. */
struct output *output_open(const char *path, int *error);
/* That, or another -errno of a file, as the end of a sentence. */
const char *output_why(int error);
/* 0, or -errno if what was committed may not have arrived. */
int output_close(struct output *output);

void output_begin(struct output *output);
/* A client_sink: 0, or -errno. Count 0 ends the dump, which is in the file then, to be kept or
 * abandoned. */
int output_write(void *output, const char *bytes, size_t count);
void output_keep(struct output *output);
void output_abandon(struct output *output);
/* Keeps the dump if its result is 0, else abandons it. 0, or the result if that is an error of the
 * file itself, which the next dump would meet, too. */
int output_settle(struct output *output, int result);
/* The dump of the process that listens there, and whether it keeps what it gave. It is waited for,
 * 10 seconds at most, while somebody else takes one. 0, or a result of client_dump(). */
int output_dump(struct output *output, const char *socket, bool keep);
/* Says from now on how far a dump of output_dump() is. Its line is taken away at the end. */
void output_show_progress(struct output *output, FILE *terminal);
/* Whether what was written has arrived: some file systems say so late. 0, or -errno. */
int output_sync(struct output *output);

/* Bytes in the file, and how many events the dumps in it said they have. */
uint64_t output_bytes(const struct output *output);
uint64_t output_events(const struct output *output);
uint64_t output_lost_events(const struct output *output);
/* Of the last dump that was kept: the begin of its first line, with the numbers of its events and
 * its service. */
const char *output_header_start(const struct output *output);
/* Of the last dump: how long its first line was. */
uint64_t output_header_bytes(const struct output *output);
bool output_can_take_back(const struct output *output);

#endif
