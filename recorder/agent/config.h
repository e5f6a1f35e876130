/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of wcprof agent: its file read, checked, and held.
 *
 * A file is taken whole or not at all. Errors name its line and the key, and never a value: that
 * may be a secret in the wrong place. One thread.
 */
#ifndef WCPROF_CONFIG_H
#define WCPROF_CONFIG_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CONFIG_BYTES_MAX = 65536,
	CONFIG_PROCESSES_MAX = 64, /* sections of each kind */
	CONFIG_UPLOADS_MAX = 8,
	CONFIG_PATH_BYTES = 512,
	CONFIG_TAG_BYTES = 256,
	CONFIG_WORD_BYTES = 16,
	CONFIG_SOCKET_BYTES = 108,
	CONFIG_TENANT_BYTES = 128,
	CONFIG_ERROR_BYTES = 256
};

enum config_protocol {
#define UPLOAD(name, path, meaning) CONFIG_##name,
#include "uploads.def"
#undef UPLOAD
	CONFIG_PROTOCOLS /* none is chosen */
};

/* One that is not set fits everything. */
struct config_pattern {
	bool is_set;
	regex_t regex;
};

/* The fields of these are the keys of config.def, where their meaning is. */
struct config_agent {
	uint64_t interval_s, scan_s;
	char store[CONFIG_PATH_BYTES];
	uint64_t store_mb, queue_mb, tries, analysis_mb, analysis_s;
	char host[CONFIG_TAG_BYTES];
	char metrics_file[CONFIG_PATH_BYTES];
	uint64_t metrics_port;
};

struct config_process {
	struct config_pattern name, command;
	char budget[CONFIG_WORD_BYTES];
	uint64_t sample_hz;
	char service[CONFIG_TAG_BYTES], version[CONFIG_TAG_BYTES], environment[CONFIG_TAG_BYTES];
};

struct config_upload {
	enum config_protocol to;
	char url[CONFIG_PATH_BYTES];
	char socket[CONFIG_SOCKET_BYTES];
	char token_file[CONFIG_PATH_BYTES], api_key_file[CONFIG_PATH_BYTES];
	char tenant[CONFIG_TENANT_BYTES];
	char ca_file[CONFIG_PATH_BYTES];
	uint64_t insecure, timeout_s;
	char protocol[CONFIG_WORD_BYTES];
};

struct config {
	struct config_agent agent;
	struct config_process processes[CONFIG_PROCESSES_MAX];
	size_t process_count;
	struct config_upload uploads[CONFIG_UPLOADS_MAX];
	size_t upload_count;
};

/* Reads a text, which has a NUL at its end. False: *error says what is wrong, and there is nothing
 * to be freed. */
bool config_parse(struct config *config, const char *text, char error[CONFIG_ERROR_BYTES]);
/* The same of a file. */
bool config_read(struct config *config, const char *path, char error[CONFIG_ERROR_BYTES]);
void config_free(struct config *config);

/* The first rule that fits: its name the one that a program was started by, or that of its file;
 * its command the arguments. NULL: none. */
const struct config_process *config_find(const struct config *, const char *name, const char *file,
					 const char *command);

/* Prints the keys, and what each is. */
void config_print_help(void);

#endif
