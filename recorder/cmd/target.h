/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that have the recorder loaded, found by their control sockets and their arenas.
 *
 * Sockets are looked for in WCPROF_DIR (or its default), at WCPROF_SOCKET, where each living
 * process listens (reach.h), and where arenas say that their processes listen.
 */
#ifndef WCPROF_TARGET_H
#define WCPROF_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "reach.h"
#include "remains.h"

struct target {
	pid_t pid;
	char name[64];                  /* as it was started, as far as is known */
	char socket[REACH_PATH_BYTES];  /* empty: it does not listen */
	char arena[REMAINS_PATH_BYTES]; /* empty: it never recorded */
	bool is_dead;                   /* only its arena is left */
	bool is_confined;               /* it filters its system calls: answers no more */
	bool is_other_version;          /* of the recorder: its arena cannot be read */
	bool is_damaged;                /* neither can this one */
	bool is_silent;                 /* its socket takes no more connections */
};

struct target_list {
	struct target *targets; /* the living first, in order of pid */
	size_t count;
};

/* Which ones; each has those before it, too, but for arenas. */
enum target_scope {
	TARGET_SOCKETS, /* whoever listens; no arena is opened, of which there may be many */
	TARGET_NEAR,    /* those that listen in WCPROF_DIR, and this user's arenas */
	TARGET_LIVING,  /* whoever listens: root sees everybody's */
	TARGET_ALL      /* other users' arenas, opened only if root asks for them */
};
/* All of them, living and dead. With `only`, processes that are not near are left out, but for the
 * one with that pid: so nobody else is looked at. Of many arenas that others left, none is opened:
 * to look for the process of one may take a look at all processes. */
void target_list_all(struct target_list *list, enum target_scope scope, pid_t only);
/* Adds living ones that have the library and listen nowhere: looks at the memory of all. */
void target_list_add_silent(struct target_list *list);
/* Adds a copy at the end; ends the command if there is no memory. */
struct target *target_list_add(struct target_list *list, const struct target *target);
/* How many arenas other users have, as far as root may know. */
size_t target_count_others(void);
void target_list_free(struct target_list *list);

/*
 * Living ones that `word` names: a pid, or the name of a program. If no program has this name, the
 * word is an extended regular expression that a part of the name fits. If WCPROF_DIR is set, those
 * that listen there come first. One is found, unless `how` says otherwise.
 *
 * 0; -EEXIST: there are several; -ESRCH: there is none. *error says so, as a sentence.
 */
enum target_how {
	TARGET_TREE = 1,   /* also all that descend from it, whether it has the recorder or not */
	TARGET_NEWEST = 2, /* of several, the one that was started last */
	TARGET_OLDEST = 4, /* or first */
	TARGET_EVERY = 8,  /* or all */
	TARGET_FULL = 16,  /* the word is a pattern for command lines */
	TARGET_AGAIN = 32  /* one of many looks: those that listen are enough */
};
int target_find(struct target_list *found, const char *word, unsigned how, char *error,
		size_t error_size);
/* Arenas that `word` names: a path, or the pid of a dead process, which may have left several. */
int target_find_dead(struct target_list *found, const char *word, char *error, size_t error_size);

/* Of a living one without a socket, as a sentence. */
const char *target_why_silent(const struct target *target);

/* The directory of control sockets, by the environment. */
bool target_directory(char *path, size_t size);

#endif
