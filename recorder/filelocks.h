/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of locks on files: strings of the arena that say which file and bytes, and what was done.
 *
 * Processes agree on a file by its device and inode: both are in the name, whatever its path.
 * Any thread, no lock.
 */
#ifndef WCPROF_FILELOCKS_H
#define WCPROF_FILELOCKS_H

#include "self.h"

/* "WHAT FROM+BYTES of DEVICE:INODE"; 0: the descriptor is gone, or no room. errno stays. */
uint32_t file_lock_name(int fd, const char *what, uint64_t from, uint64_t bytes) HIDDEN;

#endif
