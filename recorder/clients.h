/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control thread's clients: connections and their requests.
 *
 * All functions are the control thread's, but for clients_begin(), which comes before there is
 * one.
 */
#ifndef WCPROF_CLIENTS_H
#define WCPROF_CLIENTS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "recorder.h"

enum { CLIENTS_MAX = 64 };

void clients_begin(void) HIDDEN;
/* Takes who waits at the listening socket; refuses other users, and those that are too many. */
void clients_accept(int listener) HIDDEN;
/* The events that each is waited for. */
void clients_watch(struct pollfd polls[CLIENTS_MAX]) HIDDEN;
/* Whatever can be done for them, by what poll() found of each. */
void clients_serve(const struct pollfd polls[CLIENTS_MAX]) HIDDEN;
/* Does whatever is due now; true: more will be, soon, that no descriptor tells. */
bool clients_tick(uint64_t now_ns) HIDDEN;
/* Closes all of them; the dump under way was not handed out. */
void clients_leave(void) HIDDEN;

#endif
