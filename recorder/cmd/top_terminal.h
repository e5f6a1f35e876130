/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal of top: its size, keys one by one, and a screen that is written anew each time.
 *
 * From top_terminal_begin() to top_terminal_end() the terminal does not echo, has no cursor, and
 * shows the other screen. Whoever stops or ends must put it back first. One thread.
 */
#ifndef WCPROF_TOP_TERMINAL_H
#define WCPROF_TOP_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

#include "top_view.h"

struct top_terminal {
	struct termios before;
	unsigned columns, rows;
	bool is_on;
	bool has_colors;
};

/* False: standard input and output are not both a terminal. */
bool top_terminal_begin(struct top_terminal *);
void top_terminal_end(struct top_terminal *);
/* It may have another size now. */
void top_terminal_measure(struct top_terminal *);
/* Each line is cut at the width; the last row of the screen is `prompt`. */
void top_terminal_show(const struct top_terminal *, const struct top_lines *, const char *prompt);
/* A key that was pressed; -1 = none, or part of one that is not known. */
int top_terminal_key(void);

#endif
