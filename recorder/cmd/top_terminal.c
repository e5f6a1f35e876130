/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A terminal that understands ANSI sequences; top_terminal.h has the contract.
 *
 * A screen goes out in one write, so that no half of one is ever seen.
 */
#include "top_terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "visible.h"

enum { COLUMNS_USUAL = 80, ROWS_USUAL = 24, COLUMNS_LEAST = 20, ROWS_LEAST = 5, ESCAPE = 27 };

static const char enter[] = "\033[?1049h\033[?25l", leave[] = "\033[?25h\033[?1049l";

static void put_all(const char *text, size_t length)
{
	while (length > 0) {
		ssize_t put = write(STDOUT_FILENO, text, length);

		if (put <= 0)
			return;
		text += put;
		length -= (size_t)put;
	}
}

void top_terminal_measure(struct top_terminal *terminal)
{
	struct winsize size;

	terminal->columns = COLUMNS_USUAL;
	terminal->rows = ROWS_USUAL;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row) {
		terminal->columns = size.ws_col > COLUMNS_LEAST ? size.ws_col : COLUMNS_LEAST;
		terminal->rows = size.ws_row > ROWS_LEAST ? size.ws_row : ROWS_LEAST;
	}
}

bool top_terminal_begin(struct top_terminal *terminal)
{
	const char *colors = getenv("NO_COLOR"), *type = getenv("TERM");

	*terminal = (struct top_terminal){ .has_colors = !(colors && colors[0]) };
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    (type && strcmp(type, "dumb") == 0) || tcgetattr(STDIN_FILENO, &terminal->before) != 0)
		return false;
	struct termios raw = terminal->before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
	put_all(enter, sizeof(enter) - 1);
	terminal->is_on = true;
	top_terminal_measure(terminal);
	return true;
}

void top_terminal_end(struct top_terminal *terminal)
{
	if (!terminal->is_on)
		return;
	put_all(leave, sizeof(leave) - 1);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &terminal->before);
	terminal->is_on = false;
}

static const char *style_of(const struct top_terminal *terminal, enum top_style style)
{
	if (!terminal->has_colors)
		return "";
	switch (style) {
	case TOP_TITLE:
		return "\033[1m";
	case TOP_HEADING:
		return "\033[7m";
	case TOP_WARNING:
		return "\033[33m";
	case TOP_PLAIN:
		break;
	}
	return "";
}

void top_terminal_show(const struct top_terminal *terminal, const struct top_lines *lines,
		       const char *prompt)
{
	char *screen = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&screen, &size);

	if (!out)
		return;
	fputs("\033[H", out);
	for (unsigned row = 0; row + 1 < terminal->rows; row++) {
		if (row < lines->count) {
			const struct top_line *line = &lines->lines[row];
			const char *style = style_of(terminal, line->style);

			fprintf(out, "%s%.*s%s", style,
				(int)visible_bytes_in(line->text, terminal->columns), line->text,
				style[0] ? "\033[0m" : "");
		}
		fputs("\033[K\r\n", out);
	}
	fprintf(out, "%.*s\033[K", (int)visible_bytes_in(prompt, terminal->columns), prompt);
	fclose(out);
	put_all(screen, size);
	free(screen);
}

int top_terminal_key(void)
{
	unsigned char byte;

	if (read(STDIN_FILENO, &byte, 1) != 1)
		return -1;
	if (byte != ESCAPE)
		return byte;
	/* an arrow or the like: its bytes come at once */
	for (int i = 0; i < 8 && read(STDIN_FILENO, &byte, 1) == 1; i++)
		if (byte >= '@' && byte != '[' && byte != 'O')
			return -1;
	return ESCAPE;
}
