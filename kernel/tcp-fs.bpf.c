// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TCP-Fs (Edwan 2010, chapter 6): TCP-Illinois with a decrease that stays small up to a longer queue.
 * Rules and differences: illinois.h.
 */
#define ORDER 1
#define FORM fs
#include "illinois.h"

ILLINOIS("ack_tcp_fs");
