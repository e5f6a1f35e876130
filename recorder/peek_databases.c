/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to PostgreSQL and MySQL: statements, names of prepared ones, commands. See peek.h.
 *
 * Both say how long a message is, and of which type. Of what has a password nothing is read.
 */
#include "peek.h"

#include "in_target.h"

static uint32_t big_endian(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* --- PostgreSQL: a byte of type, a length with itself, the body --- */

enum {
	POSTGRES_HEADER_BYTES = 5,
	POSTGRES_BYTES_MAX = 1 << 24,
	STARTUP_BYTES_LEAST = 8,
	STARTUP_BYTES_MAX = 10000
};

/* A connection's first message has no type, and says what it is after its length. */
static enum peek_result put_startup(const struct peeked *read, struct text *to)
{
	static const struct {
		uint32_t code;
		char word[16];
	} codes[] = {
		{ 0x00030000, "startup" },
		{ 80877102, "cancel request" },
		{ 80877103, "SSL request" },
		{ 80877104, "GSSAPI request" },
	};
	uint32_t length;

	if (read->count < STARTUP_BYTES_LEAST)
		return PEEK_MORE;
	length = big_endian(read->bytes);
	if (length < STARTUP_BYTES_LEAST || length > STARTUP_BYTES_MAX || length < read->amount)
		return PEEK_UNKNOWN;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (big_endian(read->bytes + 4) == codes[i].code) {
			text_put(to, codes[i].word);
			return PEEK_KNOWN;
		}
	return PEEK_UNKNOWN;
}

/* A name of a prepared statement, which ends with a NUL; NULL: it does not end here. A strange one
 * becomes a star. */
static const uint8_t *put_name(struct text *to, const uint8_t *at, const uint8_t *end)
{
	const uint8_t *nul = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;
	bool is_strange = false;

	if (!nul)
		return NULL;
	for (const uint8_t *byte = at; byte < nul; byte++)
		if (!peek_is_letter(*byte) && !peek_is_digit(*byte) && *byte != '_' &&
		    *byte != '-' && *byte != '.')
			is_strange = true;
	if (nul == at)
		return nul + 1;
	text_put_literal(to, " ");
	if (is_strange)
		text_put_literal(to, "*");
	else
		text_put_bytes(to, (const char *)at, (size_t)(nul - at));
	return nul + 1;
}

/* A statement that ends with a NUL, or with what is there of it. */
static enum peek_result put_statement(struct text *to, const uint8_t *at, const uint8_t *end)
{
	const uint8_t *nul = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;

	if (at >= end)
		return PEEK_MORE;
	return peek_sql(at, (size_t)((nul ? nul : end) - at), nul != NULL, to) ? PEEK_KNOWN
									       : PEEK_UNKNOWN;
}

/* The name, if it has one: the statement is executed later. */
static enum peek_result put_parse(struct text *to, const uint8_t *at, const uint8_t *end)
{
	const uint8_t *nul = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;

	if (!nul)
		return PEEK_MORE;
	if (nul > at)
		text_put_literal(to, "PREPARE ");
	return put_statement(to, nul + 1, end);
}

/* The portal's name is of no interest. */
static enum peek_result put_bind(struct text *to, const uint8_t *at, const uint8_t *end)
{
	const uint8_t *nul = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;

	if (!nul)
		return PEEK_MORE;
	text_put_literal(to, "EXECUTE");
	return put_name(to, nul + 1, end) ? PEEK_KNOWN : PEEK_MORE;
}

static enum peek_result put_word(struct text *to, bool is_so, const char *word)
{
	text_put(to, word);
	return is_so ? PEEK_KNOWN : PEEK_UNKNOWN;
}

enum peek_result peek_postgres(const struct peeked *read, struct text *to)
{
	const uint8_t *end = read->bytes + read->count;
	const uint8_t *body = read->bytes + POSTGRES_HEADER_BYTES;
	uint32_t length;

	if (!memchr("QPBXSp", read->bytes[0], sizeof("QPBXSp")))
		return PEEK_UNKNOWN;
	if (read->bytes[0] == '\0')
		return put_startup(read, to);
	if (read->count < POSTGRES_HEADER_BYTES)
		return PEEK_MORE;
	length = big_endian(read->bytes + 1);
	if (length < 4 || length >= POSTGRES_BYTES_MAX)
		return PEEK_UNKNOWN;
	if (length < (uint64_t)(end - body) + 4)
		end = read->bytes + 1 + length;
	switch (read->bytes[0]) {
	case 'Q':
		return put_statement(to, body, end);
	case 'P':
		return put_parse(to, body, end);
	case 'B':
		return put_bind(to, body, end);
	case 'X':
		return put_word(to, length == 4, "terminate");
	case 'S':
		return put_word(to, length == 4, "sync");
	default:
		return put_word(to, length + 1 == read->amount, "password");
	}
}

/* --- MySQL: three bytes of length, a number, the body --- */

enum {
	MYSQL_HEADER_BYTES = 4,
	MYSQL_COMMAND_BYTES = MYSQL_HEADER_BYTES + 1,
	LOGIN_BYTES_LEAST = 32,
	LOGIN_ZEROS =
		MYSQL_HEADER_BYTES + 9, /* capabilities, the largest packet, a set of characters */
	LOGIN_CAPABILITY_41 = 2         /* of the second byte */
};

enum { ANY_BYTES = 1 << 24 };

/* Commands by number; lengths are of the body. A statement follows COM_QUERY and
 * COM_STMT_PREPARE. */
static const struct mysql_command {
	uint8_t number;
	char word[24];
	uint32_t least;
	uint32_t most;
} commands[] = {
	{ 0x01, "COM_QUIT", 1, 1 },
	{ 0x02, "COM_INIT_DB", 2, 256 },
	{ 0x03, "", 2, ANY_BYTES },
	{ 0x04, "COM_FIELD_LIST", 2, 512 },
	{ 0x09, "COM_STATISTICS", 1, 1 },
	{ 0x0a, "COM_PROCESS_INFO", 1, 1 },
	{ 0x0c, "COM_PROCESS_KILL", 5, 5 },
	{ 0x0e, "COM_PING", 1, 1 },
	{ 0x11, "COM_CHANGE_USER", 4, 1024 },
	{ 0x16, "PREPARE ", 2, ANY_BYTES },
	{ 0x17, "COM_STMT_EXECUTE", 10, ANY_BYTES },
	{ 0x18, "COM_STMT_SEND_LONG_DATA", 7, ANY_BYTES },
	{ 0x19, "COM_STMT_CLOSE", 5, 5 },
	{ 0x1a, "COM_STMT_RESET", 5, 5 },
	{ 0x1b, "COM_SET_OPTION", 3, 3 },
	{ 0x1c, "COM_STMT_FETCH", 9, 9 },
	{ 0x1f, "COM_RESET_CONNECTION", 1, 1 },
};

static bool has_statement(const struct mysql_command *command)
{
	return command->number == 0x03 || command->number == 0x16;
}

/* Of a client's first packet nothing but that it is one. */
static enum peek_result put_login(const struct peeked *read, struct text *to)
{
	if (read->count < LOGIN_BYTES_LEAST)
		return PEEK_MORE;
	if (!(read->bytes[MYSQL_HEADER_BYTES + 1] & LOGIN_CAPABILITY_41))
		return PEEK_UNKNOWN;
	for (size_t i = LOGIN_ZEROS; i < LOGIN_BYTES_LEAST; i++)
		if (read->bytes[i] != 0)
			return PEEK_UNKNOWN;
	text_put_literal(to, "login");
	return PEEK_KNOWN;
}

/* A client that has attributes for statements says first how many: none. */
static enum peek_result put_query(const struct peeked *read, uint32_t length, struct text *to)
{
	const uint8_t *at = read->bytes + MYSQL_COMMAND_BYTES;
	size_t bytes = read->count - MYSQL_COMMAND_BYTES;

	if (bytes == 0)
		return PEEK_MORE;
	if (bytes > 2 && at[0] == 0 && at[1] == 1) {
		at += 2;
		bytes -= 2;
	}
	return peek_sql(at, bytes, MYSQL_HEADER_BYTES + length <= read->count, to) ? PEEK_KNOWN
										   : PEEK_UNKNOWN;
}

enum peek_result peek_mysql(const struct peeked *read, struct text *to)
{
	uint32_t length;

	if (read->count < MYSQL_HEADER_BYTES)
		return PEEK_MORE;
	length = (uint32_t)read->bytes[0] | (uint32_t)read->bytes[1] << 8 |
		 (uint32_t)read->bytes[2] << 16;
	if (read->bytes[3] > 1 || length == 0)
		return PEEK_UNKNOWN;
	if (read->count < MYSQL_COMMAND_BYTES)
		return PEEK_MORE;
	/* Clients wait for the answer: no other packet follows. */
	if (MYSQL_HEADER_BYTES + (uint64_t)length < read->amount)
		return PEEK_UNKNOWN;
	if (read->bytes[3] == 1)
		return put_login(read, to);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		const struct mysql_command *command = &commands[i];

		if (command->number != read->bytes[MYSQL_HEADER_BYTES])
			continue;
		if (length < command->least || length > command->most)
			return PEEK_UNKNOWN;
		text_put(to, command->word);
		return has_statement(command) ? put_query(read, length, to) : PEEK_KNOWN;
	}
	return PEEK_UNKNOWN;
}
