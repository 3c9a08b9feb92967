// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TCP-Gentle-1 (Edwan 2010, algorithms 2 and 4). Rules and differences: gentle.h.
 */
#define VERSION 1
#include "gentle.h"

GENTLE("ack_gentle_1");
