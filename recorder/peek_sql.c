/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements of SQL: the first word, and the table. See peek.h.
 *
 * All between them becomes "...": no literal, number or comment is ever put. PostgreSQL and MySQL
 * read a backslash, a dollar sign and a hash in different ways. The rest is left out where a
 * literal has ended for one of them and not for the other.
 */
#include "peek.h"

#include "in_target.h"

enum token {
	TOKEN_END,    /* also of a cut statement, in whatever it is cut */
	TOKEN_UNSURE, /* the rest may be in a literal or not */
	TOKEN_WORD,
	TOKEN_NAME, /* in quotes */
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_DOT,
	TOKEN_SEMICOLON,
	TOKEN_OTHER
};

struct lexer {
	const uint8_t *at;
	const uint8_t *end;
	const uint8_t *from; /* the last word or name, without quotes */
	size_t bytes;        /* of it */
};

/* Words after a verb that are worth telling. */
enum after { AFTER_NOTHING, AFTER_FROM, AFTER_INTO, AFTER_NAME, AFTER_THING };

struct verb {
	char word[12];
	uint8_t after;
};

static const struct verb verbs[] = {
	{ "SELECT", AFTER_FROM },        { "INSERT", AFTER_INTO },
	{ "UPDATE", AFTER_NAME },        { "DELETE", AFTER_FROM },
	{ "BEGIN", AFTER_NOTHING },      { "COMMIT", AFTER_NOTHING },
	{ "ROLLBACK", AFTER_NOTHING },   { "END", AFTER_NOTHING },
	{ "START", AFTER_NOTHING },      { "WITH", AFTER_FROM },
	{ "REPLACE", AFTER_INTO },       { "MERGE", AFTER_INTO },
	{ "EXECUTE", AFTER_NAME },       { "PREPARE", AFTER_NAME },
	{ "DEALLOCATE", AFTER_NAME },    { "CALL", AFTER_NAME },
	{ "COPY", AFTER_NAME },          { "LOCK", AFTER_NAME },
	{ "TABLE", AFTER_NAME },         { "TRUNCATE", AFTER_NAME },
	{ "VACUUM", AFTER_NAME },        { "ANALYZE", AFTER_NAME },
	{ "DESCRIBE", AFTER_NAME },      { "CREATE", AFTER_THING },
	{ "DROP", AFTER_THING },         { "ALTER", AFTER_THING },
	{ "SET", AFTER_NOTHING },        { "RESET", AFTER_NOTHING },
	{ "SHOW", AFTER_NOTHING },       { "USE", AFTER_NOTHING },
	{ "VALUES", AFTER_NOTHING },     { "EXPLAIN", AFTER_NOTHING },
	{ "SAVEPOINT", AFTER_NOTHING },  { "RELEASE", AFTER_NOTHING },
	{ "ABORT", AFTER_NOTHING },      { "DECLARE", AFTER_NOTHING },
	{ "FETCH", AFTER_NOTHING },      { "MOVE", AFTER_NOTHING },
	{ "CLOSE", AFTER_NOTHING },      { "DISCARD", AFTER_NOTHING },
	{ "LISTEN", AFTER_NOTHING },     { "NOTIFY", AFTER_NOTHING },
	{ "UNLISTEN", AFTER_NOTHING },   { "UNLOCK", AFTER_NOTHING },
	{ "CHECKPOINT", AFTER_NOTHING }, { "REINDEX", AFTER_NOTHING },
	{ "CLUSTER", AFTER_NOTHING },    { "DO", AFTER_NOTHING },
	{ "GRANT", AFTER_NOTHING },      { "REVOKE", AFTER_NOTHING },
	{ "COMMENT", AFTER_NOTHING },    { "KILL", AFTER_NOTHING },
	{ "FLUSH", AFTER_NOTHING },      { "OPTIMIZE", AFTER_NOTHING },
	{ "HANDLER", AFTER_NOTHING },    { "XA", AFTER_NOTHING },
};

/* Words between a verb and a name. */
static const char fillers[][16] = {
	"ONLY",   "TABLE",   "TABLES", "LOW_PRIORITY", "HIGH_PRIORITY", "IGNORE",
	"LOCAL",  "DELAYED", "QUICK",  "VERBOSE",      "FULL",          "FREEZE",
	"GLOBAL", "TEMP",    "UNIQUE", "TEMPORARY",    "UNLOGGED",      "CONCURRENTLY",
	"OR",     "REPLACE", "IF",     "NOT",          "EXISTS",
};

/* Things that are created. Only a table has its name put: a user's says who it is. */
static const char things[][16] = {
	"TABLE", "INDEX", "VIEW",     "SEQUENCE", "FUNCTION",  "PROCEDURE", "TRIGGER", "USER",
	"ROLE",  "TYPE",  "DATABASE", "SCHEMA",   "EXTENSION", "DOMAIN",    "SERVER",
};

/* --- Words --- */

static bool is_begin_of_word(uint8_t byte)
{
	return peek_is_letter(byte) || byte == '_' || byte >= 0x80;
}

static bool is_in_word(uint8_t byte)
{
	return is_begin_of_word(byte) || peek_is_digit(byte) || byte == '$';
}

/* A comment to PostgreSQL, or an operator and code to MySQL: "--x", or with an exclamation mark. */
static bool is_comment_to_some(const uint8_t *at, size_t left)
{
	return left > 2 && (at[0] == '-' ? at[2] > ' ' : at[2] == '!' || at[2] == 'M');
}

/* White space, and comments. False: it is not sure where a comment ends. */
static bool skip_blanks(struct lexer *lexer)
{
	while (lexer->at < lexer->end) {
		size_t left = (size_t)(lexer->end - lexer->at);
		const uint8_t *at = lexer->at;
		bool is_line = left >= 2 && at[0] == '-' && at[1] == '-';
		bool is_block = left >= 2 && at[0] == '/' && at[1] == '*';

		if ((is_line || is_block) && is_comment_to_some(at, left))
			return false;
		if (*at == ' ' || (*at >= '\t' && *at <= '\r')) {
			lexer->at++;
		} else if (is_line) {
			const uint8_t *line = memchr(at, '\n', left);

			lexer->at = line ? line : lexer->end;
		} else if (is_block) {
			for (at += 2; at + 1 < lexer->end && !(at[0] == '*' && at[1] == '/'); at++)
				if (at[0] == '/' && at[1] == '*')
					return false;
			lexer->at = at + 1 < lexer->end ? at + 2 : lexer->end;
		} else {
			break;
		}
	}
	return true;
}

/* At the opening quote. */
static enum token next_quoted(struct lexer *lexer)
{
	uint8_t quote = *lexer->at++;

	lexer->from = lexer->at;
	for (; lexer->at < lexer->end; lexer->at++) {
		if (*lexer->at == '\\')
			return TOKEN_UNSURE;
		if (*lexer->at == quote) {
			lexer->bytes = (size_t)(lexer->at++ - lexer->from);
			return quote == '\'' ? TOKEN_OTHER : TOKEN_NAME;
		}
	}
	return TOKEN_END;
}

static enum token next_word(struct lexer *lexer)
{
	lexer->from = lexer->at;
	while (lexer->at < lexer->end && is_in_word(*lexer->at))
		lexer->at++;
	lexer->bytes = (size_t)(lexer->at - lexer->from);
	return is_begin_of_word(*lexer->from) ? TOKEN_WORD : TOKEN_OTHER;
}

static enum token next_token(struct lexer *lexer)
{
	if (!skip_blanks(lexer))
		return TOKEN_UNSURE;
	if (lexer->at == lexer->end)
		return TOKEN_END;
	switch (*lexer->at) {
	case '\'':
	case '"':
	case '`':
		return next_quoted(lexer);
	case '$': /* a parameter, or the quote of a literal */
		if (lexer->end - lexer->at < 2 || !peek_is_digit(lexer->at[1]))
			return TOKEN_UNSURE;
		return next_word(lexer);
	case '\\':
	case '#':
		return TOKEN_UNSURE;
	case '(':
		lexer->at++;
		return TOKEN_OPEN;
	case ')':
		lexer->at++;
		return TOKEN_CLOSE;
	case '.':
		lexer->at++;
		return TOKEN_DOT;
	case ';':
		lexer->at++;
		return TOKEN_SEMICOLON;
	default:
		if (is_in_word(*lexer->at))
			return next_word(lexer);
		lexer->at++;
		return TOKEN_OTHER;
	}
}

static bool is_word(const struct lexer *lexer, const char *word)
{
	size_t bytes;

	if ((lexer->from[0] | 0x20) != (word[0] | 0x20))
		return false;
	bytes = strlen(word);
	if (lexer->bytes != bytes)
		return false;
	for (size_t i = 0; i < bytes; i++)
		if (lexer->from[i] != (uint8_t)word[i] &&
		    lexer->from[i] != (uint8_t)(word[i] | 0x20))
			return false;
	return true;
}

static bool is_filler(const struct lexer *lexer)
{
	for (size_t i = 0; i < sizeof(fillers) / sizeof(fillers[0]); i++)
		if (is_word(lexer, fillers[i]))
			return true;
	return false;
}

/* --- Templates --- */

static void put_name_part(struct text *to, const struct lexer *lexer, bool is_whole)
{
	for (size_t i = 0; i < lexer->bytes; i++) {
		uint8_t byte = lexer->from[i];

		if (!is_in_word(byte) || byte >= 0x80) {
			text_put_literal(to, "*");
			return;
		}
	}
	text_put_bytes(to, (const char *)lexer->from, lexer->bytes);
	if (!is_whole && lexer->at == lexer->end)
		text_put_literal(to, "...");
}

/* The token before is the first part of a name, or something else. */
static void put_name(struct text *to, struct lexer *lexer, enum token token, bool is_whole)
{
	while (token == TOKEN_WORD && is_filler(lexer))
		token = next_token(lexer);
	if (token == TOKEN_OPEN)
		text_put_literal(to, " (...)");
	if (token == TOKEN_END && !is_whole)
		text_put_literal(to, " ...");
	if (token != TOKEN_WORD && token != TOKEN_NAME)
		return;
	text_put_literal(to, " ");
	put_name_part(to, lexer, is_whole);
	while (next_token(lexer) == TOKEN_DOT) {
		token = next_token(lexer);
		if (token != TOKEN_WORD && token != TOKEN_NAME)
			return;
		text_put_literal(to, ".");
		put_name_part(to, lexer, is_whole);
	}
}

/* The word FROM outside of brackets: that of EXTRACT(YEAR FROM x) is another one. */
static void put_from(struct text *to, struct lexer *lexer, bool is_whole)
{
	size_t depth = 0;
	enum token token = next_token(lexer);

	for (bool is_next = true;; is_next = false, token = next_token(lexer)) {
		if (token == TOKEN_WORD && depth == 0 && is_word(lexer, "FROM")) {
			if (!is_next)
				text_put_literal(to, " ...");
			text_put_literal(to, " FROM");
			put_name(to, lexer, next_token(lexer), is_whole);
			return;
		}
		if (token == TOKEN_END || token == TOKEN_UNSURE || token == TOKEN_SEMICOLON) {
			text_put_literal(to, " ...");
			return;
		}
		depth += token == TOKEN_OPEN;
		depth -= token == TOKEN_CLOSE && depth > 0;
	}
}

static void put_into(struct text *to, struct lexer *lexer, bool is_whole)
{
	enum token token = next_token(lexer);

	while (token == TOKEN_WORD && is_filler(lexer))
		token = next_token(lexer);
	if (token == TOKEN_WORD && is_word(lexer, "INTO")) {
		text_put_literal(to, " INTO");
		token = next_token(lexer);
	}
	put_name(to, lexer, token, is_whole);
}

static void put_thing(struct text *to, struct lexer *lexer, bool is_whole)
{
	while (next_token(lexer) == TOKEN_WORD) {
		for (size_t i = 0; i < sizeof(things) / sizeof(things[0]); i++) {
			if (!is_word(lexer, things[i]))
				continue;
			text_put_literal(to, " ");
			text_put(to, things[i]);
			if (i == 0)
				put_name(to, lexer, next_token(lexer), is_whole);
			return;
		}
		if (!is_filler(lexer))
			return;
	}
}

static const struct verb *find_verb(const struct lexer *lexer)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (is_word(lexer, verbs[i].word))
			return &verbs[i];
	return NULL;
}

bool peek_sql(const uint8_t *bytes, size_t count, bool is_whole, struct text *to)
{
	struct lexer lexer = { .at = bytes, .end = bytes + count };
	enum token token = next_token(&lexer);
	const struct verb *verb;

	while (token == TOKEN_OPEN || token == TOKEN_SEMICOLON)
		token = next_token(&lexer);
	verb = token == TOKEN_WORD ? find_verb(&lexer) : NULL;
	if (!verb)
		return false;
	text_put(to, verb->word);
	switch ((enum after)verb->after) {
	case AFTER_NOTHING:
		break;
	case AFTER_FROM:
		put_from(to, &lexer, is_whole);
		break;
	case AFTER_INTO:
		put_into(to, &lexer, is_whole);
		break;
	case AFTER_NAME:
		put_name(to, &lexer, next_token(&lexer), is_whole);
		break;
	case AFTER_THING:
		put_thing(to, &lexer, is_whole);
		break;
	}
	return true;
}
