/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words that ssh gets: a host, and a script for the shell there. See remote.h.
 *
 * ssh gets one text, which the user's shell there reads: it runs sh with the script. While the
 * command runs, the script reads on. The end of its input, as when the connection is gone, ends the
 * command: that turns recording off, if it had turned it on.
 */
#include "remote.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char before[] = "exec 3<&0; echo '" REMOTE_READY "'; read -r go <&3 || exit 1; ";
static const char after[] =
	" </dev/null 3<&- & p=$!; { cat <&3; kill -TERM $p; } >/dev/null 2>&1 & "
	"c=$!; wait $p; s=$?; kill $c 2>/dev/null; exit $s";

bool remote_is_host(const char *text)
{
	size_t length = strlen(text);

	if (length == 0 || length >= REMOTE_HOST_BYTES || text[0] == '-' || text[0] == '.')
		return false;
	for (const char *at = text; *at; at++)
		if (!isascii(*at) || (!isalnum(*at) && !strchr("._-@%", *at)))
			return false;
	return true;
}

bool remote_parse(const char *text, char host[REMOTE_HOST_BYTES], const char **process)
{
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;

	if (!colon || length >= REMOTE_HOST_BYTES || !colon[1] || isspace(colon[1]))
		return false;
	memcpy(host, text, length);
	host[length] = '\0';
	*process = colon + 1;
	return remote_is_host(host);
}

/* A word as a shell reads it back. */
static void put_word(FILE *to, const char *word)
{
	fputc('\'', to);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", to);
		else
			fputc(*word, to);
	fputc('\'', to);
}

bool remote_script(struct remote *remote, const struct cmd_options *options,
		   const char *const *words)
{
	char script[REMOTE_SCRIPT_BYTES];
	FILE *stream = fmemopen(script, sizeof(script), "w");
	bool is_whole;

	if (!stream)
		return false;
	fputs(before, stream);
	put_word(stream, options->remote_path ? options->remote_path : "wcprof");
	for (; *words; words++) {
		fputc(' ', stream);
		put_word(stream, *words);
	}
	fputs(after, stream);
	is_whole =
		fflush(stream) == 0 && !ferror(stream) && ftell(stream) < (long)sizeof(script) - 1;
	fclose(stream);
	stream = is_whole ? fmemopen(remote->script, sizeof(remote->script), "w") : NULL;
	if (!stream)
		return false;
	fputs("sh -c ", stream);
	put_word(stream, script);
	is_whole = fflush(stream) == 0 && !ferror(stream) &&
		   ftell(stream) < (long)sizeof(remote->script) - 1;
	fclose(stream);
	return is_whole;
}
