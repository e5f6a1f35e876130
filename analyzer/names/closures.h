/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of functions, also of those that have none: closures of Rust and lambdas of C++.
 *
 * The debug information tells several of them in one function apart, and linkers may not.
 */
#ifndef WCPROF_CLOSURES_H
#define WCPROF_CLOSURES_H

#include "demangle.h"
#include "unitindex.h"

/* The readable name of a frame's function; NULL = it is not known. Lives as long as `demangler`. */
const char *closures_name(struct demangler *demangler, const struct unitindex_frame *frame);

#endif
