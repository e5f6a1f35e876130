/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration file. See config.h.
 *
 * A line is empty, a comment after #, a section in brackets, or a key with an equals sign and a
 * value. The value goes to the end of the line. Spaces around each are no part of it.
 */
#include "config.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "body.h"
#include "options.h"

enum { LINE_BYTES = 1024 };

enum section { SECTION_agent, SECTION_process, SECTION_upload };

/* A row of config.def: its value is at `offset` in the struct of its section. */
static const struct key {
	enum section section;
	const char *name;
	enum { KEY_NUMBER, KEY_SHARE, KEY_TEXT, KEY_PATTERN, KEY_CHOICE } type;
	const char *shown; /* the default */
	uint64_t usual, least, most;
	const char *unit;
	const char *help;
	size_t offset;
} keys[] = {
#define KEY(of, word, kind, ...)                                          \
	{                                                                 \
		.section = SECTION_##of, .name = #word, .type = kind,     \
		.offset = offsetof(struct config_##of, word), __VA_ARGS__ \
	}
#define CONFIG_NUMBER(of, word, value, from, to, in, meaning)                            \
	KEY(of, word, KEY_NUMBER, .usual = value, .least = from, .most = to, .unit = in, \
	    .shown = #value, .help = meaning),
#define CONFIG_SHARE(of, word, value, meaning)                                               \
	KEY(of, word, KEY_SHARE, .most = CONFIG_WORD_BYTES - 1, .unit = "", .help = meaning, \
	    .shown = value),
#define CONFIG_TEXT(of, word, value, to, meaning) \
	KEY(of, word, KEY_TEXT, .most = to, .unit = "", .help = meaning, .shown = value),
#define CONFIG_PATTERN(of, word, meaning) \
	KEY(of, word, KEY_PATTERN, .shown = "", .unit = "", .help = meaning),
#define CONFIG_CHOICE(of, word, meaning) \
	KEY(of, word, KEY_CHOICE, .shown = "", .unit = "", .help = meaning),
#include "config.def"
};

#define CONFIG_TEXT(section, key, shown, most, help)                              \
	_Static_assert(sizeof(((struct config_##section *)0)->key) == (most) + 1, \
		       "as long as config.def says");
#include "config.def"

enum { KEY_COUNT = sizeof(keys) / sizeof(keys[0]) };

static const char *const protocols[] = {
#define UPLOAD(name, path, meaning) #name,
#include "uploads.def"
#undef UPLOAD
};

/* The text as it is read. */
struct parsing {
	struct config *config;
	unsigned line;
	enum section section;
	char *error;
};

static bool refuse(const struct parsing *parsing, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool refuse(const struct parsing *parsing, const char *format, ...)
{
	int used = snprintf(parsing->error, CONFIG_ERROR_BYTES, "line %u: ", parsing->line);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(parsing->error + used, CONFIG_ERROR_BYTES - (size_t)used, format, arguments);
	va_end(arguments);
	return false;
}

/* --- Values ----------------------------------------------------------------------------------- */

static bool set_number(const struct parsing *parsing, const struct key *key, const char *text,
		       uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	if (isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 && *value >= key->least &&
	    *value <= key->most)
		return true;
	return refuse(parsing, "%s is a number from %ju to %ju", key->name, (uintmax_t)key->least,
		      (uintmax_t)key->most);
}

static bool set_text(const struct parsing *parsing, const struct key *key, const char *text,
		     char *value)
{
	if (strlen(text) > key->most)
		return refuse(parsing, "%s is a text of at most %ju bytes", key->name,
			      (uintmax_t)key->most);
	strcpy(value, text);
	return true;
}

static bool set_share(const struct parsing *parsing, const struct key *key, const char *text,
		      char *value)
{
	if (strlen(text) <= key->most &&
	    options_accept(&option_entries[OPTION_budget], text, strlen(text)))
		return set_text(parsing, key, text, value);
	return refuse(parsing, "%s is a percentage up to 100, as 1%% or 0.5", key->name);
}

static bool set_pattern(const struct parsing *parsing, const struct key *key, const char *text,
			struct config_pattern *value)
{
	char why[80];
	int error;

	if (value->is_set)
		return refuse(parsing, "%s is there twice in this section", key->name);
	error = regcomp(&value->regex, text, REG_EXTENDED);
	value->is_set = error == 0;
	if (error == 0)
		return true;
	regerror(error, &value->regex, why, sizeof(why));
	return refuse(parsing, "%s is no extended regular expression: %s", key->name, why);
}

static bool set_protocol(const struct parsing *parsing, const char *text,
			 enum config_protocol *value)
{
	for (int i = 0; i < CONFIG_PROTOCOLS; i++) {
		if (strcmp(protocols[i], text) != 0)
			continue;
		*value = (enum config_protocol)i;
		return true;
	}
	return refuse(parsing, "to is pyroscope, parca, datadog or otlp");
}

static bool set(const struct parsing *parsing, const struct key *key, const char *text, void *owner)
{
	void *to = (char *)owner + key->offset;

	switch (key->type) {
	case KEY_NUMBER:
		return set_number(parsing, key, text, to);
	case KEY_SHARE:
		return set_share(parsing, key, text, to);
	case KEY_PATTERN:
		return set_pattern(parsing, key, text, to);
	case KEY_CHOICE:
		return set_protocol(parsing, text, to);
	case KEY_TEXT:
	default:
		return set_text(parsing, key, text, to);
	}
}

static void set_defaults(enum section section, void *owner)
{
	for (int i = 0; i < KEY_COUNT; i++) {
		void *to = (char *)owner + keys[i].offset;

		if (keys[i].section != section)
			continue;
		if (keys[i].type == KEY_NUMBER)
			memcpy(to, &keys[i].usual, sizeof(keys[i].usual));
		/* Other texts that are shown are words about where the value comes from. */
		else if (keys[i].type == KEY_SHARE || keys[i].shown[0] == '/')
			strcpy(to, keys[i].shown);
	}
}

/* --- Sections --------------------------------------------------------------------------------- */

static void *present_owner(const struct parsing *parsing)
{
	struct config *config = parsing->config;

	switch (parsing->section) {
	case SECTION_process:
		return &config->processes[config->process_count - 1];
	case SECTION_upload:
		return &config->uploads[config->upload_count - 1];
	case SECTION_agent:
	default:
		return &config->agent;
	}
}

/* "http://host", or with s, a port and a path: what is not shown to anybody must not be in it. */
static bool check_url(const struct parsing *parsing, const char *url)
{
	const char *host = strstr(url, "://");

	if (!host || (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) ||
	    host[3] == '\0')
		return refuse(parsing,
			      "url begins with http:// or https:// and the receiver's name");
	for (const char *at = url; *at; at++)
		if (!isgraph((unsigned char)*at))
			return refuse(parsing, "url has a space, or a byte that is not of ASCII");
	if (strpbrk(host + 3, "@?#"))
		return refuse(parsing, "url has no password, ? or #: a secret belongs into a file "
				       "(token_file, api_key_file)");
	return true;
}

static bool check_upload(const struct parsing *parsing, const struct config_upload *upload)
{
	if (upload->to == CONFIG_PROTOCOLS)
		return refuse(parsing, "this section of an upload lacks its to");
	if (!upload->url[0])
		return refuse(parsing, "this section of an upload lacks its url");
	if (upload->to == CONFIG_otlp && strcmp(upload->protocol, "1.10") != 0)
		return refuse(parsing,
			      "otlp needs protocol = 1.10, the only version that is known: "
			      "its receivers read no other than their own");
	return check_url(parsing, upload->url);
}

/* Mistakes that show only when all of a section is known; at its end. */
static bool check_section(const struct parsing *parsing)
{
	const struct config *config = parsing->config;

	if (parsing->section == SECTION_process &&
	    !config->processes[config->process_count - 1].name.is_set &&
	    !config->processes[config->process_count - 1].command.is_set)
		return refuse(parsing, "this section of processes lacks its name or command");
	if (parsing->section == SECTION_upload)
		return check_upload(parsing, &config->uploads[config->upload_count - 1]);
	return true;
}

static bool begin_section(struct parsing *parsing, const char *name)
{
	struct config *config = parsing->config;

	if (!check_section(parsing))
		return false;
	if (strcmp(name, "process]") == 0) {
		if (config->process_count == CONFIG_PROCESSES_MAX)
			return refuse(parsing, "there are at most %d sections [process]",
				      CONFIG_PROCESSES_MAX);
		parsing->section = SECTION_process;
		set_defaults(SECTION_process, &config->processes[config->process_count++]);
	} else if (strcmp(name, "upload]") == 0) {
		if (config->upload_count == CONFIG_UPLOADS_MAX)
			return refuse(parsing, "there are at most %d sections [upload]",
				      CONFIG_UPLOADS_MAX);
		parsing->section = SECTION_upload;
		config->uploads[config->upload_count].to = CONFIG_PROTOCOLS;
		set_defaults(SECTION_upload, &config->uploads[config->upload_count++]);
	} else {
		return refuse(parsing, "a section is [process] or [upload]");
	}
	return true;
}

/* --- Lines ------------------------------------------------------------------------------------ */

static char *trim(char *text)
{
	size_t length;

	text += strspn(text, " \t\r");
	for (length = strlen(text); length > 0 && strchr(" \t\r", text[length - 1]); length--)
		text[length - 1] = '\0';
	return text;
}

static bool is_word(const char *text)
{
	return *text && text[strspn(text, "abcdefghijklmnopqrstuvwxyz_")] == '\0';
}

static bool take_key(struct parsing *parsing, const char *name, const char *value)
{
	for (int i = 0; i < KEY_COUNT; i++)
		if (keys[i].section == parsing->section && strcmp(keys[i].name, name) == 0)
			return set(parsing, &keys[i], value, present_owner(parsing));
	if (!is_word(name) || strlen(name) > 32)
		return refuse(parsing, "keys are words of small letters (wcprof-agent.conf(5))");
	return refuse(parsing, "there is no key %s here (wcprof-agent.conf(5))", name);
}

static bool take_line(struct parsing *parsing, char *text)
{
	char *line = trim(text), *equals = strchr(line, '=');

	if (line[0] == '\0' || line[0] == '#')
		return true;
	if (line[0] == '[')
		return begin_section(parsing, line + 1);
	if (!equals)
		return refuse(parsing, "a line is key = value, [process], [upload], or a comment");
	*equals = '\0';
	return take_key(parsing, trim(line), trim(equals + 1));
}

static bool parse(struct parsing *parsing, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");
		char line[LINE_BYTES];

		parsing->line++;
		if (length >= sizeof(line))
			return refuse(parsing, "a line has at most %d bytes", LINE_BYTES - 1);
		memcpy(line, text, length);
		line[length] = '\0';
		if (!take_line(parsing, line))
			return false;
		text += length + (text[length] == '\n');
	}
	return check_section(parsing);
}

bool config_parse(struct config *config, const char *text, char error[CONFIG_ERROR_BYTES])
{
	struct parsing parsing = { .config = config, .error = error };

	*config = (struct config){ 0 };
	set_defaults(SECTION_agent, &config->agent);
	if (!parse(&parsing, text)) {
		config_free(config);
		return false;
	}
	if (config->process_count == 0) {
		parsing.line++;
		return refuse(&parsing, "nothing is recorded: there is no section [process]");
	}
	return true;
}

bool config_read(struct config *config, const char *path, char error[CONFIG_ERROR_BYTES])
{
	struct body text = { 0 };
	int result = body_put_file(&text, path, CONFIG_BYTES_MAX);
	bool is_read = false;

	body_put(&text, "", 1);
	if (result == 0 && text.has_failed)
		result = -ENOMEM;
	if (result != 0)
		snprintf(error, CONFIG_ERROR_BYTES, "%s", strerror(-result));
	else if (strlen(text.bytes) + 1 != text.used)
		snprintf(error, CONFIG_ERROR_BYTES, "it is no text");
	else
		is_read = config_parse(config, text.bytes, error);
	body_free(&text);
	return is_read;
}

static void free_pattern(struct config_pattern *pattern)
{
	if (pattern->is_set)
		regfree(&pattern->regex);
	pattern->is_set = false;
}

void config_free(struct config *config)
{
	for (size_t i = 0; i < config->process_count; i++) {
		free_pattern(&config->processes[i].name);
		free_pattern(&config->processes[i].command);
	}
	config->process_count = config->upload_count = 0;
}

/* --- Rules ------------------------------------------------------------------------------------ */

static bool fits(const struct config_pattern *pattern, const char *text, bool is_whole)
{
	regmatch_t match;

	if (!pattern->is_set)
		return true;
	if (regexec(&pattern->regex, text, 1, &match, 0) != 0)
		return false;
	return !is_whole || (match.rm_so == 0 && text[match.rm_eo] == '\0');
}

const struct config_process *config_find(const struct config *config, const char *name,
					 const char *file, const char *command)
{
	for (size_t i = 0; i < config->process_count; i++)
		if ((fits(&config->processes[i].name, name, true) ||
		     fits(&config->processes[i].name, file, true)) &&
		    fits(&config->processes[i].command, command, false))
			return &config->processes[i];
	return NULL;
}

void config_print_help(void)
{
	static const char *const titles[] = { "", "[process]", "[upload]" };
	enum section section = SECTION_agent;

	for (int i = 0; i < KEY_COUNT; i++) {
		if (keys[i].section != section) {
			section = keys[i].section;
			printf("\n  %s\n", titles[section]);
		}
		printf("  %-13s %s%s%s%s%s%s\n", keys[i].name, keys[i].help,
		       keys[i].shown[0] ? " (" : "", keys[i].shown, keys[i].unit[0] ? " " : "",
		       keys[i].unit, keys[i].shown[0] ? ")" : "");
	}
}
