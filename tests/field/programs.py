# SPDX-License-Identifier: Apache-2.0
"""The table of the field: all programs, those that were looked at first."""

import held_out
import looked_at

PROGRAMS = looked_at.PROGRAMS + held_out.PROGRAMS
